import {
  type BookEntry,
  decodeBookEntry,
  decodeMakerEvent,
  type MakerEvent,
  topicNames,
} from '@makerbook/contracts-events';
import { connectLog, partitionOf } from '@makerbook/kafka';

/** One message to the router about an order. */
export interface Told {
  /** `gone`, or status or reason, and what remains. */
  readonly says: string;
  /** Why it was taken from the feed. */
  readonly removal: string | undefined;
  /** What the message says in full; undefined where the order is gone. */
  readonly entry: BookEntry | undefined;
  /** Where the fact stands that led to it. */
  readonly offset: bigint;
}

/** The router's feed, and the log's clock beside it. */
export interface Feed {
  /** Every message about an order, as they came. After a crash some are said again, with the same offsets. */
  told(orderHash: string): readonly Told[];
  /** Where in the log a block was first said to be processed, for this maker; undefined where it was left out. */
  processedAt(maker: string, block: number): bigint | undefined;
  /** The newest block that was processed before this place in the log. */
  processedBefore(maker: string, offset: bigint): number;
  /** The block that the fact at this place in the log was read at; 0 where it is not of the chain. */
  readAt(maker: string, offset: bigint): number;
  /** Where in the log DELETE took the order from the service. */
  deletedAt(orderHash: string): bigint | undefined;
  /** The last facts about a maker and the blocks between them, a line each, for whoever has to find out why. */
  recent(maker: string): readonly string[];
  /** The newest block that stands in every partition of the log, as far as it was read. @throws Error of a message that no reader understands */
  clock(): number;
  close(): Promise<void>;
}

const LINES_MAX = 80;

/** Follows both topics from their beginning, as the router would. */
export function followFeed(kafkaBrokers: string, topicPrefix: string, partitions: number): Feed {
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const log = connectLog({ brokers: kafkaBrokers.split(','), clientId: 'router', logger: quiet });
  const topics = topicNames(topicPrefix);
  let failure: Error | undefined;
  const onFatal = (error: Error) => {
    failure ??= error;
  };
  const told = new Map<string, Told[]>();
  const deletions = new Map<string, bigint>();
  /** By partition, oldest first: blocks that were newer than all before them. */
  const clocks = Array.from({ length: partitions }, (): { readonly block: number; readonly offset: bigint }[] => []);
  /** By partition. */
  const recent = Array.from(
    { length: partitions },
    (): { readonly maker: string | undefined; readonly line: string }[] => [],
  );
  const readAt = Array.from({ length: partitions }, () => new Map<bigint, number>());
  const clockOf = (maker: string) => clocks[partitionOf(maker, partitions)] ?? [];
  log.followTopic({
    topic: topics.book,
    from: 'beginning',
    onFatal,
    onRecords: (_partition, records) => {
      for (const record of records) {
        const before = told.get(record.key);
        if (before === undefined) told.set(record.key, [read(record)]);
        else before.push(read(record));
      }
    },
  });
  log.followTopic({
    topic: topics.makerEvents,
    from: 'beginning',
    onFatal,
    onRecords: (partition, records) => {
      const clock = clocks[partition] ?? [];
      for (const record of records) {
        const fact = decodeMakerEvent(record);
        if ('unreadable' in fact) throw new Error(fact.unreadable);
        const { offset } = record;
        const lines = recent[partition] ?? [];
        lines.push({ maker: 'maker' in fact ? fact.maker : undefined, line: `${offset} ${lineOf(fact)}` });
        if (lines.length > LINES_MAX) lines.shift();
        if (fact.type === 'OrderCancelled' && !deletions.has(fact.orderHash)) deletions.set(fact.orderHash, offset);
        if ('block' in fact) readAt[partition]?.set(offset, fact.block.number);
        if (fact.type !== 'BlockProcessed') continue;
        if (fact.block.number > (clock.at(-1)?.block ?? -1)) clock.push({ block: fact.block.number, offset });
      }
    },
  });
  return {
    told: (orderHash) => told.get(orderHash) ?? [],
    processedAt: (maker, block) => clockOf(maker).findLast((processed) => processed.block === block)?.offset,
    processedBefore: (maker, offset) => clockOf(maker).findLast((processed) => processed.offset < offset)?.block ?? 0,
    readAt: (maker, offset) => readAt[partitionOf(maker, partitions)]?.get(offset) ?? 0,
    deletedAt: (orderHash) => deletions.get(orderHash),
    recent: (wanted) =>
      (recent[partitionOf(wanted, partitions)] ?? [])
        .filter(({ maker }) => maker === undefined || maker === wanted)
        .map(({ line }) => line),
    clock: () => {
      if (failure !== undefined) throw failure;
      return Math.min(...clocks.map((clock) => clock.at(-1)?.block ?? -1));
    },
    close: () => log.close(),
  };
}

function lineOf(fact: MakerEvent): string {
  const { type } = fact;
  const at = 'block' in fact ? ` at ${fact.block.number}` : '';
  switch (type) {
    case 'BlockProcessed':
      return `${type}${at}`;
    case 'OrderFilled':
      return `${type} ${fact.orderHash.slice(0, 10)} ${BigInt(fact.filledMakingAmount)}${at}`;
    case 'BalanceChanged':
      return `${type} ${fact.token.slice(0, 8)} ${BigInt(fact.balance)}${at}`;
    case 'AllowanceChanged':
      return `${type} ${fact.token.slice(0, 8)} ${BigInt(fact.allowance)}${at}`;
    case 'NonceChanged':
      return `${type} ${BigInt(fact.nonce)}${at}`;
    case 'OrderSubmitted':
    case 'OrderCancelled':
    case 'OrderCancelledOnChain':
      return `${type} ${fact.orderHash.slice(0, 10)}${at}`;
    default:
      return type;
  }
}

/** The last message of those that were led to by facts up to this place in the log; undefined before the first. */
export function lastUpTo(told: readonly Told[], offset: bigint): Told | undefined {
  return told.findLast((each) => each.offset <= offset);
}

function read({ value, headers }: { value: Buffer | null; headers: Readonly<Record<string, string>> }): Told {
  if (value === null) {
    const offset = BigInt(headers['position_offset'] ?? '');
    return { says: 'gone', removal: headers['removal'], entry: undefined, offset };
  }
  const entry = decodeBookEntry({ value, headers });
  if ('unreadable' in entry) throw new Error(entry.unreadable);
  const status = entry.status === 'INACTIVE' ? entry.reason : entry.status;
  const says = `${status} ${BigInt(entry.remainingMakingAmount)}`;
  return { says, removal: undefined, entry, offset: BigInt(entry.position.offset) };
}
