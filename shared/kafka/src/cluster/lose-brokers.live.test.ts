import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findFreePorts, type KafkaPart, startKafka, until } from '@makerbook/parts';
import { connectLog } from '../connect-log.js';
import { LogUnavailable, PublisherFenced } from '../failures.js';
import type { Appender, Log } from '../log.js';
import { awaitInSync, lookAt } from '../testing/await-in-sync.js';
import { asRead, openTestLog, quiet, readAll, recordOf } from '../testing/open-test-log.js';
import { readCluster } from './read-cluster.js';

const BROKERS = 3;
const PARTITIONS = 6;
/** The pause between two appends to a partition. It leaves the brokers a core to elect leaders with. */
const PAUSE_MS = 5;
/** A machine with much other work may take long to elect leaders. */
const GOES_ON_MS_MAX = 400_000;
const FROZEN_MS = 20_000;
/** Far more than a broker's session at its controller plus one request among brokers. */
const SILENCE_MS_MAX = 15_000;
const SESSION = { 'broker.session.timeout.ms': '3000', 'broker.heartbeat.interval.ms': '500' };
const folder = mkdtempSync(join(tmpdir(), 'makerbook-kafka-'));
const clusterId = randomBytes(16).toString('base64url');
const nodes: KafkaPart[] = [];
let ports: number[];
let log: Log;
let writing: ReturnType<typeof keepAppending> | undefined;

const first = () => [nodes[1]?.brokers ?? ''];

/** Starts a broker, perhaps again and on another port. Broker 1 is the controller, and is left alone. */
async function start(nodeId: number, port: number): Promise<void> {
  const cluster = { nodeId, brokers: BROKERS, clusterId, controllerPorts: ports.slice(0, 1) };
  const options = { dataDir: join(folder, `${nodeId}`), port, cluster, properties: SESSION };
  nodes[nodeId] = await startKafka(options);
}

beforeAll(async () => {
  ports = await findFreePorts(BROKERS + 2);
  await Promise.all([1, 2, 3].map((nodeId) => start(nodeId, ports[nodeId] ?? 0)));
  log = openTestLog(
    nodes
      .slice(1)
      .map(({ brokers }) => brokers)
      .join(','),
  );
});
afterAll(async () => {
  await writing?.stop();
  await log?.close();
  for (const node of nodes.slice(1)) node.kill('SIGCONT');
  await Promise.all(nodes.slice(1).map((node) => node.stop()));
  rmSync(folder, { recursive: true, force: true });
});

/** Appends to all partitions, half of the time in transactions over two. Remembers the outcome of each value. */
function keepAppending(appender: Appender, topic: string) {
  const stored: string[] = [];
  const refused: string[] = [];
  const unknown: string[] = [];
  let isRunning = true;
  let written = 0;
  async function appendOn(partition: number): Promise<void> {
    while (isRunning) {
      written += 1;
      const value = `${partition}:${written}`;
      try {
        const partitions = written % 2 === 0 ? [partition, (partition + 1) % PARTITIONS] : [partition];
        await appender.append(partitions.map((to) => recordOf(topic, to, value)));
        stored.push(value);
      } catch (error) {
        expect(error).toBeInstanceOf(LogUnavailable);
        ((error as LogUnavailable).mayHaveBeenAppended ? unknown : refused).push(value);
      }
      await pause(PAUSE_MS);
    }
  }
  const running = Promise.all(Array.from({ length: PARTITIONS }, (_, partition) => appendOn(partition)));
  return {
    stored,
    refused,
    unknown,
    /** Waits until every partition takes records again. */
    goesOn: () => {
      const from = stored.length;
      const written = () => new Set(stored.slice(from).map((value) => value.split(':')[0]));
      return until('every partition takes records', () => written().size === PARTITIONS, GOES_ON_MS_MAX);
    },
    stop: async () => {
      isRunning = false;
      await running;
    },
  };
}

/** Publishes to each partition of the topic, as its only owner. Call the result to stop. */
function keepPublishing(services: Log, topic: string): () => Promise<void> {
  let isRunning = true;
  const running = Promise.all(
    Array.from({ length: PARTITIONS }, async (_, partition) => {
      const ownPartitions = [{ topic, partition }];
      const publisher = services.createFencedPublisher({ transactionalId: `${topic}-${partition}`, ownPartitions });
      while (isRunning) {
        const publishing = publisher.publish([recordOf(topic, partition, 'any')]);
        await publishing.catch((error: unknown) => expect(error).not.toBeInstanceOf(PublisherFenced));
        await pause(10 * PAUSE_MS);
      }
    }),
  );
  return async () => {
    isRunning = false;
    await running;
  };
}

/** Measures the longest time without a record for each partition, in milliseconds, as a follower sees it. */
function measureSilence(services: Log, topic: string) {
  const heardAtMs = new Array<number>(PARTITIONS).fill(Number.NaN);
  const longest = new Array<number>(PARTITIONS).fill(0);
  const note = (partition: number) => {
    const nowMs = performance.now();
    longest[partition] = Math.max(longest[partition] ?? 0, nowMs - (heardAtMs[partition] ?? nowMs));
    heardAtMs[partition] = nowMs;
  };
  const following = services.followTopic({ topic, from: 'end', onRecords: note });
  return {
    areAllHeard: () => heardAtMs.every((at) => !Number.isNaN(at)),
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

/** Tells whether each partition has two of its three replicas in sync. */
async function lackOne(topic: string): Promise<boolean> {
  const { partitions } = await readCluster({ brokers: first(), clientId: 'test', logger: quiet }, [topic]);
  return partitions.length === PARTITIONS && partitions.every(({ replicas, inSync }) => replicas === 3 && inSync === 2);
}

test('nothing is lost and no partition is silent for long if one of three brokers dies and another hangs', async () => {
  const topic = `test-${clusterId.replaceAll(/[^a-zA-Z0-9]/g, '')}`;
  await until(
    'all brokers are there',
    async () => (await lookAt(first(), []))?.brokers.length === BROKERS,
    GOES_ON_MS_MAX,
  );
  await log.createTopics([{ name: topic, partitions: PARTITIONS, replicationFactor: BROKERS, config: {} }]);
  await log.verifyTopics([{ name: topic, partitions: PARTITIONS, config: { 'min.insync.replicas': '2' } }]);
  const positions = new Array<bigint>(PARTITIONS).fill(0n);
  const handled: string[][] = Array.from({ length: PARTITIONS }, () => []);
  const fatals: Error[] = [];
  const consumer = log.consumePartitions({
    topic,
    parkedTopic: topic,
    positionOf: async (partition) => positions[partition] ?? 0n,
    decode: asRead,
    handleBatch: async ({ partition, fromOffset, nextOffset, records }) => {
      if (positions[partition] !== fromOffset) throw new Error('not where the store is');
      positions[partition] = nextOffset;
      handled[partition]?.push(...records.map(({ value }) => String(value)));
    },
    onFatal: (error) => void fatals.push(error),
  });
  writing = keepAppending(log.createAppender({ timeoutMs: 5_000 }), topic);
  for (let partition = 0; partition < PARTITIONS; partition += 1) consumer.assign(partition);
  await writing.goesOn();

  await awaitInSync(first(), BROKERS, [topic]);
  nodes[3]?.kill('SIGKILL');
  await nodes[3]?.exited;
  await writing.goesOn();
  await until('each partition is told to lack a replica', () => lackOne(topic), GOES_ON_MS_MAX);
  await start(3, ports[4] ?? 0);
  await writing.goesOn();

  // Connect with the time limits that services have.
  const brokers = nodes.slice(1).map((node) => node.brokers);
  const services = connectLog({ brokers, clientId: 'test', logger: quiet });
  const published = `${topic}-published`;
  await log.createTopics([{ name: published, partitions: PARTITIONS, replicationFactor: BROKERS, config: {} }]);
  const stopPublishing = keepPublishing(services, published);
  const silences = [topic, published].map((one) => measureSilence(services, one));
  await until('all partitions are heard', () => silences.every(({ areAllHeard }) => areAllHeard()), GOES_ON_MS_MAX);
  await awaitInSync(first(), BROKERS, [topic, published]);
  for (const { begin } of silences) begin();
  await nodes[2]?.freeze();
  await pause(FROZEN_MS);
  const longest = (await Promise.all(silences.map(({ end }) => end()))).flat();
  // No partition stores a record before the session ends, so the shortest silence shows how slow the machine is.
  expect(Math.max(...longest)).toBeLessThan(Math.max(SILENCE_MS_MAX, 2 * Math.min(...longest)));
  nodes[2]?.kill('SIGCONT');
  await stopPublishing();
  await services.close();
  await writing.goesOn();
  await writing.stop();

  const ends = await log.endOffsets(topic);
  const isHandled = () => fatals.length > 0 || ends.every((end, p) => (positions[p] ?? 0n) >= end);
  await until('all is handled', isHandled, GOES_ON_MS_MAX);
  await consumer.stop();
  expect(fatals).toEqual([]);
  const seen = await readAll(log, topic);
  expect(handled).toEqual(seen);
  const values = new Set(seen.flat());
  expect(writing.stored.filter((value) => !values.has(value))).toEqual([]);
  expect(writing.refused.filter((value) => values.has(value))).toEqual([]);
}, 1_800_000);
