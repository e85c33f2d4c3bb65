import type { SignedOrder } from '@makerbook/client';
import {
  type BookEntry,
  type BookPosition,
  decodeBookEntry,
  decodeMakerEvent,
  type MakerEvent,
  topicNames,
} from '@makerbook/contracts-events';
import { connectLog, partitionOf, type StoredRecord } from '@makerbook/kafka';
import { silentLogger } from '@makerbook/telemetry';
import type { OpenStack } from './open-stack.js';

/** One message to the router about an order, and what led to it. */
export interface Step {
  /** `ACTIVE`, `INACTIVE INSUFFICIENT_BALANCE`, `gone FILLED`. */
  readonly says: string;
  /** As `AllowanceChanged 100`: the fact whose place the message names, and before it those that were judged with it. */
  readonly facts: readonly string[];
  /** Of that fact: the transaction, the occasion of a reading, `request`; of a block, what its time is for the order. */
  readonly cause: string;
}

/** The log, and the router's feed that the projector makes of it. */
export interface FollowedOrders {
  /** What the router was told last; `nothing` before the first message. */
  last(orderHash: string): string;
  /** The last message but a tombstone. */
  entry(orderHash: string): BookEntry | undefined;
  /**
   * All that the router was told, as a reader that keeps the highest position has it.
   * @throws Error where a message names a fact that the log does not hold, or one that is not about its maker
   */
  steps(order: SignedOrder): Step[];
  /** Whether the log says what the protocol holds of the order. */
  isObserved(orderHash: string): boolean;
  factAt(partition: number, offset: string): MakerEvent | undefined;
  /** The newest block that stands in every partition of the log. */
  block(): number;
  close(): Promise<void>;
}

/** A message with the place of the fact that led to it. */
interface Told {
  readonly says: string;
  readonly position: BookPosition['position'];
}

/** Follows both topics from their beginning. Each call throws once a message could not be read. */
export function followOrders({ addresses, topicPrefix, operatorEnvironment }: OpenStack): FollowedOrders {
  const log = connectLog({ brokers: addresses.kafkaBrokers.split(','), clientId: 'router', logger: silentLogger });
  const topics = topicNames(topicPrefix);
  const partitions = Number(operatorEnvironment['PARTITIONS']);
  const told = new Map<string, Told[]>();
  const entries = new Map<string, BookEntry>();
  const facts = Array.from({ length: partitions }, () => new Map<string, MakerEvent>());
  const blocks = Array.from({ length: partitions }, () => -1);
  const observed = new Set<string>();
  let failure: Error | undefined;
  const onFatal = (error: Error) => {
    failure ??= error;
  };
  const factAt = (partition: number, offset: string) => facts[partition]?.get(offset);

  log.followTopic({
    topic: topics.book,
    from: 'beginning',
    onFatal,
    onRecords: (_partition, records) => {
      for (const record of records) {
        const { message, entry } = readMessage(record);
        const before = told.get(record.key) ?? [];
        // The last messages of a partition may come again.
        if (isKnown(message, before.at(-1))) continue;
        told.set(record.key, [...before, message]);
        if (entry !== undefined) entries.set(record.key, entry);
      }
    },
  });
  log.followTopic({
    topic: topics.makerEvents,
    from: 'beginning',
    onFatal,
    onRecords: (partition, records) => {
      for (const record of records) {
        const fact = decodeMakerEvent(record);
        if ('unreadable' in fact) throw new Error(fact.unreadable);
        facts[partition]?.set(String(record.offset), fact);
        if (fact.type === 'BlockProcessed') blocks[partition] = Math.max(blocks[partition] ?? -1, fact.block.number);
        else if (record.key !== fact.maker)
          throw new Error(`${fact.type} about ${fact.maker} has the key ${record.key}`);
        if (fact.type === 'OrderFilled') observed.add(fact.orderHash);
      }
    },
  });

  /** The facts of one maker and block that are judged together, the last of which is this one. */
  const judgedWith = (partition: number, last: MakerEvent, offset: bigint): MakerEvent[] => {
    const before = factAt(partition, String(offset - 1n));
    const isMore = before !== undefined && 'hasMore' in before && before.hasMore === true;
    return isMore ? [...judgedWith(partition, before, offset - 1n), last] : [last];
  };
  const orThrow = <T>(value: T): T => {
    if (failure !== undefined) throw failure;
    return value;
  };

  return {
    last: (orderHash) => orThrow(told.get(orderHash)?.at(-1)?.says ?? 'nothing'),
    entry: (orderHash) => orThrow(entries.get(orderHash)),
    steps: ({ order, orderHash }) =>
      orThrow(told.get(orderHash) ?? []).map(({ says, position: { partition, offset } }) => {
        const fact = factAt(partition, offset);
        const entry = entries.get(orderHash);
        if (fact === undefined || entry === undefined) throw new Error(`the log holds no ${partition}:${offset}`);
        const all = judgedWith(partition, fact, BigInt(offset));
        const isOthers = all.some((one) => one.type !== 'BlockProcessed' && one.maker !== order.maker);
        if (isOthers || partition !== partitionOf(order.maker, partitions)) {
          throw new Error(`${partition}:${offset}, which led to ${says}, is not about ${order.maker}`);
        }
        return { says, facts: all.map((one) => describe(one, orderHash)), cause: causeOf(fact, entry) };
      }),
    isObserved: (orderHash) => orThrow(observed.has(orderHash)),
    factAt: (partition, offset) => orThrow(factAt(partition, offset)),
    block: () => orThrow(Math.min(...blocks)),
    close: () => log.close(),
  };
}

function readMessage({ value, headers }: StoredRecord): { message: Told; entry?: BookEntry } {
  if (value === null) {
    const position = { partition: Number(headers['position_partition']), offset: headers['position_offset'] ?? '' };
    return { message: { says: `gone ${headers['removal']}`, position } };
  }
  const entry = decodeBookEntry({ value, headers });
  if ('unreadable' in entry) throw new Error(entry.unreadable);
  const says = entry.status === 'INACTIVE' ? `INACTIVE ${entry.reason}` : entry.status;
  return { message: { says, position: entry.position }, entry };
}

/** One fact can open an order and remove it, so a tombstone may stand where the entry before it does. */
function isKnown(message: Told, last: Told | undefined): boolean {
  if (last === undefined || BigInt(message.position.offset) > BigInt(last.position.offset)) return false;
  return !message.says.startsWith('gone') || last.says.startsWith('gone');
}

function describe(fact: MakerEvent, orderHash: string): string {
  const { type } = fact;
  if ('orderHash' in fact && fact.orderHash !== orderHash) return `${type} of another order`;
  switch (type) {
    case 'AllowanceChanged':
      return `${type} ${BigInt(fact.allowance)}`;
    case 'BalanceChanged':
      return `${type} ${BigInt(fact.balance)}`;
    case 'NonceChanged':
      return `${type} ${BigInt(fact.nonce)}`;
    case 'OrderFilled':
      return `${type} ${BigInt(fact.filledMakingAmount)}`;
    default:
      return type;
  }
}

function causeOf(fact: MakerEvent, { order, routableUntil, acceptedAtMs }: BookEntry): string {
  if (fact.type === 'BlockProcessed') {
    const { timestamp } = fact.block;
    if (timestamp >= Number(order.expiresAt)) return 'expired';
    if (timestamp >= routableUntil) return 'last minute';
    return timestamp * 1000 >= acceptedAtMs ? 'not older' : 'older';
  }
  switch (fact.cause.kind) {
    case 'log':
      return fact.cause.transactionHash;
    case 'read':
      return fact.cause.occasion;
    default:
      return fact.cause.kind;
  }
}
