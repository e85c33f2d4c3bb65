import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openTcpGate, type TcpGate, testParts, until } from '@makerbook/parts';
import { cutBlockgroup, readBlockgroup } from './testing/encode-blockgroup.js';
import { feedTopic } from './testing/feed-topic.js';
import { runWatcherProcess, type WatcherProcess } from './testing/run-watcher.js';
import { Stage } from './testing/stage-chain.js';

let stage: Stage;
let topic: string;
/** Before the Kafka of the Kaia node. */
let gate: TcpGate;
let watcher: WatcherProcess;

beforeAll(async () => {
  stage = await Stage.open();
  topic = `${stage.prefix}klaytn.chaindatafetcher.en-0.blockgroup.v1`;
  gate = await openTcpGate(`kafka://${testParts().kafkaBrokers}`);
  await gate.shut();
});
afterAll(async () => {
  await watcher.terminate();
  await gate.close();
  await stage.close();
});

const gaps = () => watcher.ops.metric('topic_gap_blocks_total');
/** Blocks that the topic does not hold are published, and nothing speaks against it. */
const goOnWithout = async () => {
  const before = await gaps();
  await stage.mine(3);
  await stage.settled();
  expect((await gaps()) - before).toBeGreaterThanOrEqual(3);
  expect(await watcher.ops.ask('/readyz')).toMatchObject({ status: 200 });
};
/** A block comes into the topic, and from nowhere else to the watcher. */
const isFollowed = async () => {
  const before = await gaps();
  await stage.mine();
  const number = await stage.provider.getBlockNumber();
  const message = await readBlockgroup(stage.provider, number);
  await feedTopic(stage.log, topic, cutBlockgroup(number, message, { segmentBytes: 700, producerId: 'producer' }));
  await stage.settled();
  return (await gaps()) === before;
};

test('without the Kafka of the Kaia node the watcher starts, logs it once, and follows the topic when it is there', async () => {
  watcher = await runWatcherProcess(stage, { KAIA_TOPIC: topic, KAIA_KAFKA_BROKERS: new URL(gate.url).host });
  await until('it is ready', async () => (await watcher.ops.ask('/readyz')).status === 200);
  // A standby is ready too: this one takes over, as there is no other.
  await stage.settled();
  await goOnWithout();
  await until('it has asked for the topic in vain', () => watcher.countLines('a topic cannot be read yet') > 0);
  await stage.log.createTopics([{ name: topic, partitions: 1, replicationFactor: 1, config: {} }]);
  await gate.open();
  await until('the topic is followed', isFollowed);

  await watcher.terminate();
  expect(watcher.countLines('the Kafka of the Kaia node is away')).toBe(1);
  expect(watcher.countLines('the topic can be read now')).toBe(1);
});
