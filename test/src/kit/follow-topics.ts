import { type BookChange, type FollowedBook, followBook } from '@makerbook/book';
import { type BookClock, decodeMakerEvent, type MakerEvent, topicNames } from '@makerbook/contracts-events';
import { connectLog } from '@makerbook/kafka';
import { silentLogger } from '@makerbook/telemetry';
import { checkPublished } from './check-published.js';

/** A message to the router about an order. */
export type OrderChange = Exclude<BookChange, { kind: 'clock' }>;

/** A block whose `BlockProcessed` counts, and its place in the partition. */
export interface ProcessedBlock {
  readonly block: number;
  readonly offset: bigint;
}

/**
 * The log and the feeds, read from their beginnings. Each call throws once the feed or a record of the log is wrong, or a
 * message of any topic is not as `asyncapi.json` says.
 */
export interface FollowedTopics {
  /** Every message about an order, as they came. */
  changes(orderHash: string): readonly OrderChange[];
  readonly book: () => FollowedBook;
  factAt(partition: number, offset: bigint): MakerEvent | undefined;
  /** By offset, in the order of the log. */
  facts(partition: number): ReadonlyMap<bigint, MakerEvent>;
  /** What counts: each newer than all before. Oldest first. */
  processed(partition: number): readonly ProcessedBlock[];
  /** The newest block that is processed in every partition of the log; -1 before the first. */
  block(): number;
  /** The newest block up to which every partition of the feed is complete; -1 before the first. */
  bookBlock(): number;
  close(): Promise<void>;
}

export interface FactPlace {
  readonly partition: number;
  readonly offset: bigint;
  /** False where it is of a block before the last processed one. */
  readonly counts: boolean;
}

export interface FollowTopicsOptions {
  readonly kafkaBrokers: string;
  readonly topicPrefix: string;
  readonly partitions: number;
  /** Called for each message of the feed, in the order of its partition. */
  readonly onChange?: (change: BookChange) => void;
  readonly onFact?: (fact: MakerEvent, at: FactPlace) => void;
}

export function followTopics(options: FollowTopicsOptions): FollowedTopics {
  const { kafkaBrokers, topicPrefix, partitions, onChange, onFact } = options;
  const log = connectLog({ brokers: kafkaBrokers.split(','), clientId: 'router', logger: silentLogger });
  const topics = topicNames(topicPrefix);
  const checked = checkPublished(log, topics);
  const changes = new Map<string, OrderChange[]>();
  const logs = Array.from({ length: partitions }, () => new PartitionLog());
  let failure: Error | undefined;
  const onFatal = (error: Error) => {
    failure ??= error;
  };
  const book = followBook(checked, {
    topic: topics.book,
    onFatal,
    onChange: (change) => {
      if (change.kind !== 'clock') noteChange(changes, change);
      onChange?.(change);
    },
  });
  for (const topic of [topics.makers, topics.parked])
    checked.followTopic({ topic, from: 'beginning', onRecords: () => undefined, onFatal });
  checked.followTopic({
    topic: topics.makerEvents,
    from: 'beginning',
    onFatal,
    onRecords: (partition, records) => {
      for (const record of records) {
        const { offset, key } = record;
        const fact = decodeMakerEvent(record);
        if ('unreadable' in fact) throw new Error(`${partition}:${offset}: ${fact.unreadable}`);
        if ('maker' in fact && key !== fact.maker) throw new Error(`${fact.type} of ${fact.maker} has the key ${key}`);
        const counts = logs[partition]?.note(fact, offset) ?? false;
        onFact?.(fact, { partition, offset, counts });
      }
    },
  });
  const orThrow = <T>(value: T): T => {
    if (failure !== undefined) throw failure;
    return value;
  };
  const logOf = (partition: number) => logs[partition] ?? new PartitionLog();
  const clockOf = (partition: number): BookClock | undefined => book.clocks.get(partition);
  return {
    changes: (orderHash) => orThrow(changes.get(orderHash) ?? []),
    book: () => orThrow(book),
    facts: (partition) => orThrow(logOf(partition).facts),
    factAt: (partition, offset) => orThrow(logOf(partition).facts.get(offset)),
    processed: (partition) => orThrow(logOf(partition).processed),
    block: () => orThrow(Math.min(...logs.map(({ processed }) => processed.at(-1)?.block ?? -1))),
    bookBlock: () => orThrow(Math.min(...logs.map((_, partition) => clockOf(partition)?.block.number ?? -1))),
    close: () => log.close(),
  };
}

/** One partition of the log, and what of it counts: written without the rules that it is to judge. */
export class PartitionLog {
  readonly facts = new Map<bigint, MakerEvent>();
  readonly processed: ProcessedBlock[] = [];

  /** @returns whether it counts */
  note(fact: MakerEvent, offset: bigint): boolean {
    this.facts.set(offset, fact);
    if (!('block' in fact)) return true;
    const { number: block } = fact.block;
    const last = this.processed.at(-1)?.block ?? -1;
    if (fact.type === 'MakerObserved') return block >= last;
    if (block > last) this.processed.push({ block, offset });
    return block > last;
  }
}

function noteChange(changes: Map<string, OrderChange[]>, change: OrderChange): void {
  const orderHash = change.kind === 'entry' ? change.entry.orderHash : change.orderHash;
  const before = changes.get(orderHash) ?? [];
  const fault = afterTheEnd(before, change);
  if (fault !== undefined) throw new Error(`${orderHash}: ${fault}`);
  changes.set(orderHash, [...before, change]);
}

/** What is wrong with a message about an order that left the feed for good; undefined where nothing is. */
export function afterTheEnd(before: readonly OrderChange[], change: OrderChange): string | undefined {
  const last = before.at(-1);
  if (last?.kind !== 'removed' || last.removal === 'QUARANTINED' || last.removal === 'SUSPENDED') return undefined;
  const what = change.kind === 'entry' ? change.entry.status : `removal ${change.removal}`;
  return `${what} (offset ${change.id.offset}) came after removal ${last.removal} (offset ${last.id.offset})`;
}
