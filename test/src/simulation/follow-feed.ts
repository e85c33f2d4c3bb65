import { decodeBookEntry, decodeMakerEvent, topicNames } from '@makerbook/contracts-events';
import { connectLog, partitionOf } from '@makerbook/kafka';

/** What the router was told of an order: `gone`, or status or reason, and what remains. */
export interface Told {
  readonly says: string;
  /** Why it was taken from the feed. */
  readonly removal: string | undefined;
  /** Where the fact stands that led to it. */
  readonly offset: bigint;
}

/** The router's feed, and the log's clock beside it. */
export interface Feed {
  /** The last word on an order; undefined before the first. */
  last(orderHash: string): Told | undefined;
  /** What the router knew of the order the moment it was told all that the block did; undefined where the block was left out. */
  says(order: { readonly maker: string; readonly orderHash: string }, block: number): string | undefined;
  /** The newest block that stands in every partition of the log, as far as it was read. */
  clock(): number;
  close(): Promise<void>;
}

/** Follows both topics from their beginning, as the router would. */
export function followFeed(kafkaBrokers: string, topicPrefix: string, partitions: number): Feed {
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const log = connectLog({ brokers: kafkaBrokers.split(','), clientId: 'router', logger: quiet });
  const topics = topicNames(topicPrefix);
  const told = new Map<string, Told[]>();
  /** By partition: where each block was first said to be processed. */
  const blocks = Array.from({ length: partitions }, () => new Map<number, bigint>());
  log.followTopic({
    topic: topics.book,
    from: 'beginning',
    onRecords: (_partition, records) => {
      for (const record of records) told.set(record.key, [...(told.get(record.key) ?? []), read(record)]);
    },
  });
  log.followTopic({
    topic: topics.makerEvents,
    from: 'beginning',
    onRecords: (partition, records) => {
      const seen = blocks[partition];
      for (const record of records) {
        const fact = decodeMakerEvent(record);
        if ('unreadable' in fact) throw new Error(fact.unreadable);
        if (fact.type !== 'BlockProcessed' || seen === undefined || seen.has(fact.block.number)) continue;
        seen.set(fact.block.number, record.offset);
      }
    },
  });
  return {
    last: (orderHash) => told.get(orderHash)?.at(-1),
    says({ maker, orderHash }, block) {
      const processedAt = blocks[partitionOf(maker, partitions)]?.get(block);
      if (processedAt === undefined) return undefined;
      return told.get(orderHash)?.findLast(({ offset }) => offset <= processedAt)?.says ?? 'gone';
    },
    clock: () => Math.min(...blocks.map((seen) => Math.max(-1, ...seen.keys()))),
    close: () => log.close(),
  };
}

function read({ value, headers }: { value: Buffer | null; headers: Readonly<Record<string, string>> }): Told {
  if (value === null) {
    return { says: 'gone', removal: headers['removal'], offset: BigInt(headers['position_offset'] ?? '') };
  }
  const entry = decodeBookEntry({ value, headers });
  if ('unreadable' in entry) throw new Error(entry.unreadable);
  const status = entry.status === 'INACTIVE' ? entry.reason : entry.status;
  const says = `${status} ${BigInt(entry.remainingMakingAmount)}`;
  return { says, removal: undefined, offset: BigInt(entry.position.offset) };
}
