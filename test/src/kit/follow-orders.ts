import { type BookChange, followBook } from '@makerbook/book';
import type { SignedOrder } from '@makerbook/client';
import { type BookEntry, decodeMakerEvent, isTooLate, type MakerEvent, topicNames } from '@makerbook/contracts-events';
import { openMessageCheck } from '@makerbook/contracts-events/testing';
import { connectLog, partitionOf, type StoredRecord } from '@makerbook/kafka';
import { silentLogger } from '@makerbook/telemetry';
import type { OpenStack } from './open-stack.js';
import { type OrderChange, statusOf } from './status-of.js';

/** One message to the router about an order, and what led to it. */
export interface Step {
  /** For example `ACTIVE`, `INACTIVE INSUFFICIENT_BALANCE` or `gone FILLED`. */
  readonly status: string;
  /**
   * The changes, each with its value in the message: `ALLOWANCE_CHANGED 100`, `FILLED 60` (in sum). For a tombstone,
   * the type of the fact.
   */
  readonly changes: readonly string[];
  /** The cause of the fact: the transaction, the occasion of a reading, `request`, or what a block's time means. */
  readonly cause: string;
}

export type FollowedOrders = ReturnType<typeof followOrders>;

/**
 * Follows the log, and the router's feed that the projector makes of it, from their beginnings. Each call throws once
 * the feed or a record of the log is wrong or came twice, or once a message of any topic is not as `asyncapi.json`
 * says.
 */
export function followOrders({
  addresses,
  topicPrefix,
  operatorEnvironment,
}: Pick<OpenStack, 'addresses' | 'topicPrefix' | 'operatorEnvironment'>) {
  const brokers = addresses.kafkaBrokers.split(',');
  const log = connectLog({ brokers, clientId: 'router', logger: silentLogger });
  const topics = topicNames(topicPrefix);
  const changes = new Map<string, OrderChange[]>();
  const readings = noteReadings();
  const partitions = Array.from({ length: Number(operatorEnvironment['PARTITIONS']) }, () => ({
    facts: new Map<bigint, MakerEvent>(),
    block: -1,
  }));
  let failure: Error | undefined;
  const onFatal = (error: Error) => {
    failure ??= error;
  };
  const checked = checkMessages(log, topics);
  const onChange = (change: BookChange) => change.kind !== 'clock' && noteChange(changes, change);
  const book = followBook(checked, { topic: topics.book, onFatal, onChange });
  for (const topic of [topics.fills, topics.makers, topics.acks, topics.parked])
    checked.followTopic({ topic, from: 'beginning', onRecords: () => undefined, onFatal });
  const noteFact = (partition: number, record: StoredRecord) => {
    const own = partitions[partition];
    const fact = decodeMakerEvent(record);
    if ('unreadable' in fact) throw new Error(`${partition}:${record.offset}: ${fact.unreadable}`);
    if ('maker' in fact && record.key !== fact.maker)
      throw new Error(`a fact of ${fact.maker} has the key ${record.key}`);
    if (isTooLate(record)) return;
    own?.facts.set(record.offset, fact);
    if (own !== undefined && fact.type === 'BlockProcessed') own.block = Math.max(own.block, fact.block.number);
    readings.add(fact, own?.block ?? -1);
  };
  checked.followTopic({
    topic: topics.makerEvents,
    from: 'beginning',
    onFatal,
    onRecords: (partition, records) => {
      for (const record of records) noteFact(partition, record);
    },
  });
  const orThrow = <T>(value: T): T => {
    if (failure !== undefined) throw failure;
    return value;
  };
  /** Facts keyed by offset, in the order of the log. */
  const factsOf = (partition: number): ReadonlyMap<bigint, MakerEvent> =>
    orThrow(partitions[partition]?.facts ?? new Map<bigint, MakerEvent>());
  /** Every message about an order, in the order in which they came. */
  const changesOf = (orderHash: string): readonly OrderChange[] => orThrow(changes.get(orderHash) ?? []);
  return {
    changes: changesOf,
    /** The status of the newest message, `nothing` before the first. */
    last: (orderHash: string) => statusOf(changesOf(orderHash).at(-1)),
    /** The newest message that is no tombstone. */
    entry: (orderHash: string) => entryOf(changesOf(orderHash)),
    /**
     * Every message about the order.
     * @throws Error if a message names a fact that the log does not hold, or that is not about the order's maker
     */
    steps({ order, orderHash }: SignedOrder): Step[] {
      const entry = entryOf(changesOf(orderHash));
      if (entry === undefined) return [];
      return changesOf(orderHash).map((change) => {
        const { partition, offset } = change.kind === 'entry' ? change.entry.position : change.position;
        const fact = factsOf(partition).get(BigInt(offset));
        const isOwn = partition === partitionOf(order.maker, partitions.length);
        if (fact === undefined || !isOwn || ('maker' in fact && fact.maker !== order.maker))
          throw new Error(
            `the log holds no ${partition}:${offset} about ${order.maker}, which led to ${statusOf(change)}`,
          );
        return stepOf(change, entry, fact);
      });
    },
    /** True if the log has a reading of the order that counts. Then the feed must have shown the order. */
    isObserved: (orderHash: string) => orThrow(readings.isObserved(orderHash)),
    book: () => orThrow(book),
    facts: factsOf,
    factAt: (partition: number, offset: bigint) => factsOf(partition).get(offset),
    /** The newest block that is processed in every partition of the log, -1 before the first. */
    block: () => orThrow(Math.min(...partitions.map(({ block }) => block))),
    /** The newest block up to which every partition of the feed is complete, -1 before the first. */
    bookBlock: () => orThrow(Math.min(...partitions.map((_, at) => book.clocks.get(at)?.block.number ?? -1))),
    close: () => log.close(),
  };
}

/** Follows topics as the log does. Stops with an error at a message that `asyncapi.json` does not allow. */
function checkMessages(
  log: ReturnType<typeof connectLog>,
  topics: ReturnType<typeof topicNames>,
): Pick<ReturnType<typeof connectLog>, 'followTopic'> {
  const faultOf = openMessageCheck('refused');
  const ids = Object.keys(topics) as (keyof typeof topics)[];
  return {
    followTopic: (options) => {
      const id = ids.find((one) => topics[one] === options.topic);
      if (id === undefined) throw new Error(`${options.topic} is none of the topics`);
      return log.followTopic({
        ...options,
        onRecords: (partition, records) => {
          for (const record of records) {
            const fault = faultOf(id, record);
            if (fault !== undefined) throw new Error(`${options.topic} ${partition}:${record.offset}: ${fault}`);
          }
          return options.onRecords(partition, records);
        },
      });
    },
  };
}

/** Notes which orders were read before they were cancelled, at a block not older than the last one processed. */
export function noteReadings() {
  const [observed, cancelled] = [new Set<string>(), new Set<string>()];
  return {
    isObserved: (orderHash: string): boolean => observed.has(orderHash),
    /** @param block the last block processed before the fact in its partition */
    add(fact: MakerEvent, block: number): void {
      if (fact.type === 'OrderCancelled') cancelled.add(fact.orderHash);
      if (fact.type !== 'MakerObserved' || fact.block.number < block) return;
      for (const { orderHash } of fact.orders) if (!cancelled.has(orderHash)) observed.add(orderHash);
    },
  };
}

function noteChange(changes: Map<string, OrderChange[]>, change: OrderChange): void {
  const orderHash = change.kind === 'entry' ? change.entry.orderHash : change.orderHash;
  const before = changes.get(orderHash) ?? [];
  const fault = afterTheEnd(before, change);
  if (fault !== undefined) throw new Error(`${orderHash}: ${fault}`);
  changes.set(orderHash, [...before, change]);
}

/** Says what is wrong with a message about an order that left the feed for good. Undefined if nothing is. */
export function afterTheEnd(before: readonly OrderChange[], change: OrderChange): string | undefined {
  const last = before.at(-1);
  if (last?.kind !== 'removed' || ['QUARANTINED', 'SUSPENDED', 'CAPPED'].includes(last.removal)) return undefined;
  return `${statusOf(change)} (offset ${change.id.offset}) came after ${statusOf(last)} (offset ${last.id.offset})`;
}

function entryOf(changes: readonly OrderChange[]): BookEntry | undefined {
  return changes.findLast((change) => change.kind === 'entry')?.entry;
}

function stepOf(change: OrderChange, entry: BookEntry, fact: MakerEvent): Step {
  const changes =
    change.kind === 'entry' ? change.entry.causes.map((cause) => describe(cause, change.entry)) : [fact.type];
  return { status: statusOf(change), changes, cause: causeOf(fact, entry) };
}

function describe(cause: BookEntry['causes'][number], entry: BookEntry): string {
  const funding = 'funding' in entry ? entry.funding : undefined;
  switch (cause) {
    case 'ALLOWANCE_CHANGED':
      return funding === undefined ? cause : `${cause} ${BigInt(funding.allowance)}`;
    case 'BALANCE_CHANGED':
      return funding === undefined ? cause : `${cause} ${BigInt(funding.balance)}`;
    case 'FILLED':
      return `${cause} ${BigInt(entry.order.making.amount) - BigInt(entry.remainingMakingAmount)}`;
    default:
      return cause;
  }
}

function causeOf(fact: MakerEvent, { order, routableUntil, acceptedAtMs }: BookEntry): string {
  if (fact.type === 'BlockProcessed') {
    const { timestamp } = fact.block;
    if (timestamp >= Number(order.expiresAt)) return 'expired';
    if (timestamp >= routableUntil) return 'last minute';
    return timestamp * 1000 >= acceptedAtMs ? 'not older' : 'older';
  }
  if (!('cause' in fact)) return fact.type;
  if (fact.cause.kind === 'log') return fact.cause.transactionHash;
  return fact.cause.kind === 'read' ? fact.cause.occasion : fact.cause.kind;
}
