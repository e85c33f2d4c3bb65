import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type KafkaPart, planKafkaCluster, startKafka } from '@makerbook/parts';
import { connectLog } from '../connect-log.js';
import { PublisherFenced } from '../failures.js';
import type { Log } from '../log.js';
import { makeTopic, openTestLog, quiet, recordOf, until } from '../testing/open-test-log.js';

const PARTITIONS = 6;
const FROZEN_MS = 30_000;
/** Far more than the session of a broker at its controllers, and less than a fetch waits for its answer. */
const SILENCE_MS_MAX = 9_000;
const SESSION = { 'broker.session.timeout.ms': '3000', 'broker.heartbeat.interval.ms': '500' };
const PAUSE_MS = 50;
const folder = mkdtempSync(join(tmpdir(), 'makerbook-kafka-'));
const nodes: KafkaPart[] = [];
let log: Log;

beforeAll(async () => {
  const plan = await planKafkaCluster((nodeId) => join(folder, String(nodeId)), 3);
  const properties = (options: (typeof plan)[number]) => ({ ...options.properties, ...SESSION });
  nodes.push(
    ...(await Promise.all(plan.map((options) => startKafka({ ...options, properties: properties(options) })))),
  );
  const brokers = nodes.map((node) => node.brokers);
  // With the time limits that services have.
  log = connectLog({ brokers, clientId: 'test', logger: quiet });
});
afterAll(async () => {
  await log?.close();
  for (const node of nodes) node.kill('SIGCONT');
  await Promise.all(nodes.map((node) => node.stop()));
  rmSync(folder, { recursive: true, force: true });
});

/** Of each partition the longest time without a record, in milliseconds, as a follower of the topic sees it. */
function measureSilence(topic: string) {
  const heardAtMs = new Array<number>(PARTITIONS).fill(Number.NaN);
  const longest = new Array<number>(PARTITIONS).fill(0);
  const note = (partition: number) => {
    const nowMs = performance.now();
    longest[partition] = Math.max(longest[partition] ?? 0, nowMs - (heardAtMs[partition] ?? nowMs));
    heardAtMs[partition] = nowMs;
  };
  const following = log.followTopic({ topic, from: 'beginning', onRecords: note });
  return {
    areAllHeard: () => heardAtMs.every((at) => at > performance.now() - 1_000),
    begin: () => {
      longest.fill(0);
      heardAtMs.fill(performance.now());
    },
    end: async () => {
      heardAtMs.forEach((_, partition) => {
        note(partition);
      });
      await following.stop();
      return longest.map(Math.round);
    },
  };
}

test('a broker of three that hangs silences no partition for long', async () => {
  const admin = openTestLog(nodes.map(({ brokers }) => brokers).join(','));
  const [appended, published] = [await makeTopic(admin, PARTITIONS), await makeTopic(admin, PARTITIONS)];
  const appender = log.createAppender();
  let isRunning = true;
  const keepOn = async (write: (value: string) => Promise<unknown>) => {
    for (let n = 0; isRunning; n += 1) {
      await write(String(n)).catch((error: unknown) => expect(error).not.toBeInstanceOf(PublisherFenced));
      await pause(PAUSE_MS);
    }
  };
  const writers = Array.from({ length: PARTITIONS }, (_, partition) => {
    const ownPartitions = [{ topic: published, partition }];
    const publisher = log.createFencedPublisher({ transactionalId: `${published}-${partition}`, ownPartitions });
    return [
      keepOn((value) => appender.append([recordOf(appended, partition, value)])),
      keepOn((value) => publisher.publish([recordOf(published, partition, value)])),
    ];
  });
  const silences = [measureSilence(appended), measureSilence(published)];
  await until('all partitions are heard', () => silences.every(({ areAllHeard }) => areAllHeard()));
  // The replicas are in sync by then.
  await pause(3_000);

  for (const { begin } of silences) begin();
  await nodes[2]?.freeze();
  await pause(FROZEN_MS);
  const longest = await Promise.all(silences.map(({ end }) => end()));
  nodes[2]?.kill('SIGCONT');
  isRunning = false;
  await Promise.all(writers.flat());
  await admin.close();
  // No record is stored before the session ends: that shows how slow the machine is.
  const leastMs = Math.min(...longest.flat());
  expect(Math.max(...longest.flat())).toBeLessThan(Math.max(SILENCE_MS_MAX, 2 * leastMs));
}, 300_000);
