import { randomBytes } from 'node:crypto';
import { BookHash, type HashedEntry } from '@makerbook/book';
import { clockRecord, entryRecord, type KafkaRecord, tombstone } from '@makerbook/book/testing';
import { type BookEntry, topicNames, topicSpecs } from '@makerbook/contracts-events';
import { checkTraffic } from '@makerbook/contracts-http/testing';
import type { Hex } from '@makerbook/contracts-primitives';
import { connectLog } from '@makerbook/kafka';
import { testParts, until } from '@makerbook/parts';
import { readSettings } from '@makerbook/settings';
import { silentLogger } from '@makerbook/telemetry';
import { feedSettings } from '../env.js';
import { type Feed, runFeed } from '../run.js';

export const partitions = 3;
export const pair = { tokenIn: `0x${'1a'.repeat(20)}`, tokenOut: `0x${'2b'.repeat(20)}` } as const;
const SLOW_MS = 60_000;
const LOG = '5e1fc0de';

export type TestFeed = Awaited<ReturnType<typeof openTestFeed>>;

/** Opens a topic of its own, a projector that publishes there, and the processes that a test starts. */
export async function openTestFeed() {
  const prefix = `feed-${randomBytes(5).toString('hex')}.`;
  const { kafkaBrokers } = testParts();
  const topic = topicNames(prefix).book;
  const log = connectLog({ brokers: kafkaBrokers.split(','), clientId: 'test', logger: silentLogger });
  await log.createTopics(topicSpecs(topicNames(prefix), partitions).map((spec) => ({ ...spec, replicationFactor: 1 })));
  const publisher = log.createFencedPublisher({ transactionalId: topic, timeoutMs: SLOW_MS });
  const ports = new Set<string>();
  const endTraffic = checkTraffic(({ port }) => ports.has(port));
  const running: Feed[] = [];
  return {
    log,
    topic,
    projector: describeProjector((records) => publisher.publish(records.map((record) => ({ ...record, topic })))),
    /** Starts a process, and waits until it is ready. */
    async start(environment: Record<string, string> = {}): Promise<Feed & { readonly url: string }> {
      const feed = await runFeed(
        readSettings(feedSettings, {
          PORT: '0',
          OPS_PORT: '0',
          KAFKA_BROKERS: kafkaBrokers,
          PARTITIONS: String(partitions),
          TOPIC_PREFIX: prefix,
          DRAIN_MS: '500',
          STALE_SECONDS_MAX: '1000000',
          ...environment,
        }),
        { logger: silentLogger, serveMetrics: (_, response) => void response.end() },
      );
      running.push(feed);
      ports.add(String(feed.port));
      await until(async () => (await fetch(`http://127.0.0.1:${feed.opsPort}/readyz`)).ok);
      return { ...feed, url: `http://127.0.0.1:${feed.port}` };
    },
    async stop(): Promise<void> {
      await Promise.all(running.map((feed) => feed.stop()));
      await publisher.close();
      await log.close();
      endTraffic();
    },
  };
}

/** Publishes orders that come, change and go, and clocks that say what is there. */
function describeProjector(publish: (records: readonly KafkaRecord[]) => Promise<unknown>) {
  const open = Array.from({ length: partitions }, () => new Map<Hex, HashedEntry>());
  const offsets = new Array<number>(partitions).fill(0);
  let block = 0;
  const next = (partition: number) => {
    const offset = (offsets[partition] ?? 0) + 1;
    offsets[partition] = offset;
    return { partition, offset };
  };

  const projector = {
    publish,
    /** A new order, or another state of a known one. */
    put(partition: number, orderHash: Hex, remaining: Hex = '0xa'): KafkaRecord {
      open[partition]?.set(orderHash, { orderHash, remainingMakingAmount: remaining, status: 'ACTIVE' });
      const amounts = {
        making: { token: pair.tokenOut, amount: '0xa' as const },
        taking: { token: pair.tokenIn, amount: '0x14' as const },
      };
      const record = entryRecord(orderHash, next(partition), { remainingMakingAmount: remaining });
      const { order, ...entry } = JSON.parse(String(record.value)) as BookEntry;
      const funding = { balance: '0xffff', allowance: '0xffff', block: 1 };
      const permittedTaker = `0x${'0'.repeat(40)}`;
      const active = { ...entry, order: { ...order, ...amounts, permittedTaker }, status: 'ACTIVE', funding };
      return { ...record, value: Buffer.from(JSON.stringify({ ...active, routableUntil: 4_000_000_000 })) };
    },
    remove(partition: number, orderHash: Hex): KafkaRecord {
      open[partition]?.delete(orderHash);
      return tombstone(orderHash, 'CANCELLED', next(partition));
    },
    /** The clock of each partition after one more block. */
    clocks(): KafkaRecord[] {
      block += 1;
      return open.map((orders, partition) => {
        const hash = new BookHash();
        for (const entry of orders.values()) hash.add(entry);
        return clockRecord(block, next(partition), Math.floor(Date.now() / 1000), hash.digest, LOG);
      });
    },
    /** Something happens to some order. `chance` draws numbers from 0 to 1. */
    act(chance: () => number): KafkaRecord {
      const partition = Math.floor(chance() * partitions);
      const known = [...(open[partition]?.keys() ?? [])];
      const some = known[Math.floor(chance() * known.length)];
      const what = chance();
      if (some === undefined || what < 0.4) return projector.put(partition, `0x${randomBytes(32).toString('hex')}`);
      return what < 0.7
        ? projector.put(partition, some, `0x${(1 + Math.floor(chance() * 9)).toString(16)}`)
        : projector.remove(partition, some);
    },
  };
  return projector;
}
