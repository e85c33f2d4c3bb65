import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openTcpGate, type TcpGate, testParts, until } from '@makerbook/parts';
import { cutBlockgroup, readBlockgroup } from './testing/encode-blockgroup.js';
import { feedTopic } from './testing/feed-topic.js';
import { runWatcherProcess, type WatcherProcess } from './testing/run-watcher.js';
import { Stage } from './testing/stage-chain.js';

let stage: Stage;
let topic: string;
/** The gate in front of the Kaia node's Kafka. */
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
/** Mines blocks that the topic does not hold, and checks that they are published and the watcher is ready. */
const goOnWithout = async () => {
  const before = await gaps();
  await stage.mine(3);
  await stage.settled();
  expect((await gaps()) - before).toBeGreaterThanOrEqual(3);
  expect(await watcher.ops.ask('/readyz')).toMatchObject({ status: 200 });
};
/** Mines a block and writes it to the topic. True if the watcher took it from there. */
const isFollowed = async () => {
  const before = await gaps();
  await stage.mine();
  const number = await stage.provider.getBlockNumber();
  const message = await readBlockgroup(stage.provider, number);
  await feedTopic(stage.log, topic, cutBlockgroup(number, message, { segmentBytes: 700, producerId: 'producer' }));
  await stage.settled();
  return (await gaps()) === before;
};

test('the watcher starts without the Kaia node’s Kafka, logs that once, and later follows the topic', async () => {
  watcher = await runWatcherProcess(stage, { KAIA_TOPIC: topic, KAIA_KAFKA_BROKERS: new URL(gate.url).host });
  await until('it is ready', async () => (await watcher.ops.ask('/readyz')).status === 200);
  // A standby is ready too. This one takes over, because there is no other.
  await stage.settled();
  await goOnWithout();
  await until('it has asked for the topic in vain', () => watcher.countLines('a topic cannot be read yet') > 0);
  await stage.log.createTopics([{ name: topic, partitions: 1, replicationFactor: 1, config: {} }]);
  await gate.open();
  await until('the topic is followed', isFollowed);

  await watcher.terminate();
  expect(watcher.countLines('the Kafka of the Kaia node is down')).toBe(1);
  expect(watcher.countLines('the topic can be read now')).toBe(1);
});
