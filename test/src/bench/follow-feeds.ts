import { ceType, decodeBookEntry, topicNames } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-evm';
import { connectLog, partitionOf, type StoredRecord } from '@makerbook/kafka';
import { silentLogger } from '@makerbook/telemetry';
import type { OpenStack } from '../end-to-end/open-stack.js';

/** What the bench hears of the log and of the router's feed, as the router would; times are of `performance.now()`. */
export interface Feeds {
  /** When the next entry of `limit-orders.book.v1` that says this of the order arrives; `GONE` is its tombstone. */
  nextSaid(orderHash: string, status: 'ACTIVE' | 'INACTIVE' | 'GONE'): Promise<number>;
  /** How many entries have said `ACTIVE`. */
  activeSaid(): number;
  /** When `BlockProcessed` of the block, behind all facts of the block about the maker, arrived here; NaN: not yet. */
  factsHeard(maker: Address, blockNumber: number): number;
  stop(): Promise<void>;
}

const PARTITIONS = 8;
/** Longer than anything that is worth a percentile. */
const SAID_MS_MAX = 30_000;
const ACTIVE = '"status":"ACTIVE"';

/** Follows the book, and the log of facts where `withFacts` says so. Resolves when both are read up to now. */
export async function followFeeds(
  { addresses, topicPrefix }: OpenStack,
  { withFacts }: { withFacts: boolean },
): Promise<Feeds> {
  const log = connectLog({
    brokers: addresses.kafkaBrokers.split(','),
    clientId: 'makerbook-bench',
    logger: silentLogger,
  });
  const topics = topicNames(topicPrefix);
  const said = createWaiters();
  const heard = new Map<string, number>();
  let active = 0;

  const book = log.followTopic({
    topic: topics.book,
    from: 'beginning',
    onRecords: (_partition, records) => {
      const at = performance.now();
      for (const { key, value, headers } of records) {
        if (value?.includes(ACTIVE)) active += 1;
        if (!said.isAwaited(key)) continue;
        if (value === null) {
          said.tell(key, 'GONE', at);
          continue;
        }
        const entry = decodeBookEntry({ value, headers });
        if (!('unreadable' in entry)) said.tell(key, entry.status, at);
      }
    },
  });
  const onFacts = (partition: number, records: readonly StoredRecord[]) => {
    const at = performance.now();
    for (const { value, headers } of records) {
      if (headers['ce_type'] !== ceType('BlockProcessed') || value === null) continue;
      const { block } = JSON.parse(value.toString()) as { block: { number: number } };
      heard.set(`${partition}/${block.number}`, at);
    }
  };
  const facts = withFacts
    ? log.followTopic({ topic: topics.makerEvents, from: 'beginning', onRecords: onFacts })
    : undefined;
  await book.caughtUp;
  await facts?.caughtUp;
  return {
    nextSaid: (orderHash, status) => said.next(orderHash, status),
    activeSaid: () => active,
    factsHeard: (maker, blockNumber) => heard.get(`${partitionOf(maker, PARTITIONS)}/${blockNumber}`) ?? Number.NaN,
    stop: () => log.close(),
  };
}

/** Promises of what is said of something, by what it is about and by the word. */
function createWaiters() {
  const waiting = new Map<string, Map<string, (at: number) => void>>();
  return {
    isAwaited: (about: string) => waiting.has(about),
    next: (about: string, word: string) =>
      new Promise<number>((resolve, reject) => {
        const words = waiting.get(about) ?? new Map<string, (at: number) => void>();
        waiting.set(about, words);
        const late = setTimeout(() => reject(new Error(`nobody said ${word} of ${about} in time`)), SAID_MS_MAX);
        words.set(word, (at) => {
          clearTimeout(late);
          resolve(at);
        });
      }),
    tell: (about: string, word: string, at: number) => {
      const words = waiting.get(about);
      words?.get(word)?.(at);
      words?.delete(word);
      if (words?.size === 0) waiting.delete(about);
    },
  };
}
