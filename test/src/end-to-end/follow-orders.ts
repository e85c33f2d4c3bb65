import type { SignedOrder } from '@makerbook/client';
import type { BookEntry, MakerEvent } from '@makerbook/contracts-events';
import { partitionOf } from '@makerbook/kafka';
import { type FollowedTopics, followTopics, type OrderChange } from '../kit/follow-topics.js';
import type { OpenStack } from '../kit/open-stack.js';

/** One message to the router about an order, and what led to it. */
export interface Step {
  /** `ACTIVE`, `INACTIVE INSUFFICIENT_BALANCE`, `gone FILLED`. */
  readonly status: string;
  /**
   * What changed, each with the value that the message has: `ALLOWANCE_CHANGED 100`, `FILLED 60` (in sum). Of a tombstone the
   * type of the fact.
   */
  readonly changes: readonly string[];
  /** Of the fact: the transaction, the occasion of a reading, `request`; of a block, what its time is for the order. */
  readonly cause: string;
}

/** The log, and the router's feed that the projector makes of it. */
export interface FollowedOrders
  extends Pick<FollowedTopics, 'book' | 'changes' | 'block' | 'bookBlock' | 'facts' | 'factAt' | 'close'> {
  /** The status of the newest message; `nothing` before the first. */
  last(orderHash: string): string;
  /** The newest message but a tombstone. */
  entry(orderHash: string): BookEntry | undefined;
  /**
   * Every message about the order.
   * @throws Error where a message names a fact that the log does not hold, or one that is not about its maker
   */
  steps(order: SignedOrder): Step[];
  /** Whether the log holds a reading of the order. */
  isObserved(orderHash: string): boolean;
}

/** Follows both topics from their beginning. Each call throws once a message could not be read, or came twice. */
export function followOrders({ addresses, topicPrefix, operatorEnvironment }: OpenStack): FollowedOrders {
  const partitions = Number(operatorEnvironment['PARTITIONS']);
  const observed = new Set<string>();
  const topics = followTopics({
    kafkaBrokers: addresses.kafkaBrokers,
    topicPrefix,
    partitions,
    onFact: (fact) => {
      if (fact.type === 'MakerObserved') for (const { orderHash } of fact.orders) observed.add(orderHash);
    },
  });

  function stepOf(change: OrderChange, entry: BookEntry, maker: string): Step {
    const { partition, offset } = positionOf(change);
    const status = statusOf(change);
    const fact = topics.factAt(partition, BigInt(offset));
    if (fact === undefined) throw new Error(`the log holds no ${partition}:${offset}, which led to ${status}`);
    if (partition !== partitionOf(maker, partitions) || ('maker' in fact && fact.maker !== maker))
      throw new Error(`${partition}:${offset}, which led to ${status}, is not about ${maker}`);
    return {
      status,
      changes:
        change.kind === 'entry' ? change.entry.causes.map((cause) => describe(cause, change.entry)) : [fact.type],
      cause: causeOf(fact, entry),
    };
  }

  return {
    ...topics,
    last: (orderHash) => {
      const change = topics.changes(orderHash).at(-1);
      return change === undefined ? 'nothing' : statusOf(change);
    },
    entry: (orderHash) => entryOf(topics.changes(orderHash)),
    steps: ({ order, orderHash }) => {
      const changes = topics.changes(orderHash);
      const entry = entryOf(changes);
      if (entry === undefined) return [];
      return changes.map((change) => stepOf(change, entry, order.maker));
    },
    isObserved: (orderHash) => topics.block() >= -1 && observed.has(orderHash),
  };
}

function entryOf(changes: readonly OrderChange[]): BookEntry | undefined {
  return changes.findLast((change) => change.kind === 'entry')?.entry;
}

function positionOf(change: OrderChange): BookEntry['position'] {
  return change.kind === 'entry' ? change.entry.position : change.position;
}

function statusOf(change: OrderChange): string {
  if (change.kind === 'removed') return `gone ${change.removal}`;
  const { entry } = change;
  return entry.status === 'INACTIVE' ? `INACTIVE ${entry.reason}` : entry.status;
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
  switch (fact.cause.kind) {
    case 'log':
      return fact.cause.transactionHash;
    case 'read':
      return fact.cause.occasion;
    default:
      return fact.cause.kind;
  }
}
