import {
  encodeBookEntry,
  encodeMakerView,
  encodeResumeRecord,
  type Hex,
  type LogPosition,
  type MessageContext,
  messageHeaders,
} from '@makerbook/contracts-events';
import { bookEntryOf, makerViewOf, type OpenOrder, orderToBody, type RemovalReason } from '@makerbook/domain';
import type { LogRecord } from '@makerbook/kafka';
import { type Happened, UnfoldableFact } from './fold-facts.js';
import { messageId } from './name-messages.js';
import type { FeedTopics } from './publish-feeds.js';
import type { LoggedFact } from './read-facts.js';

const source = '/makerbook/projector';

export interface FeedRules {
  readonly partition: number;
  readonly topics: FeedTopics;
  readonly routingGraceSeconds: number;
}

/** Why an order leaves the book without being removed: in its last seconds, or with all orders of a maker that is halted. */
type WithdrawalReason = 'GRACE_PERIOD' | 'HALTED';

/**
 * The feed messages of what happened, one for each transition that a reader of the feeds can see, in the order of the
 * log. They depend on the log alone: the same facts give the same bytes, whenever and in however many batches.
 * Each stands in the partition of its fact, so that a maker's messages keep their order.
 * An open order stands in the book, or it is withheld and stands in `resume`; there before it leaves the book.
 * @throws UnfoldableFact where a fact led to a state that cannot be described
 */
export function describeFeeds(happened: readonly Happened[], rules: FeedRules): LogRecord[] {
  return happened.flatMap((one) => {
    try {
      return describeOne(one, rules);
    } catch (error) {
      throw new UnfoldableFact(one.transition.offset, one.maker, error);
    }
  });
}

/**
 * The messages by which an order leaves the book and stays open.
 * @param order left out where nothing is known of it but its hash: then it stands in no feed at all
 */
export function describeWithdrawal(
  orderHash: Hex,
  order: OpenOrder | undefined,
  reason: WithdrawalReason,
  fact: LoggedFact,
  rules: FeedRules,
): LogRecord[] {
  const place = placeOf(fact, rules);
  return [...(order === undefined ? [] : [withheld(order, place)]), leavesBook(orderHash, reason, place)];
}

function describeOne({ transition, maker, source: fact }: Happened, rules: FeedRules): LogRecord[] {
  const { topics } = rules;
  const place = placeOf(fact, rules);
  const { partition, position, context } = place;
  switch (transition.kind) {
    case 'OrderOpened':
    case 'OrderChanged': {
      const { order, funding } = transition;
      if (!order.inBook) return transition.kind === 'OrderOpened' ? [withheld(order, place)] : [];
      const entry = bookEntryOf(order, funding, position, rules);
      const { value, headers } = encodeBookEntry(entry, context(order.orderHash));
      return [{ topic: topics.book, partition, key: order.orderHash, value, headers }];
    }
    case 'OrderObserved':
    case 'HashCancelled':
      return [];
    case 'OrderWithheld':
      return describeWithdrawal(transition.order.orderHash, transition.order, 'GRACE_PERIOD', fact, rules);
    case 'OrderRemoved':
      return transition.order.inBook
        ? [leavesBook(transition.order.orderHash, transition.reason, place)]
        : [noLongerWithheld(transition.order.orderHash, place)];
    case 'MakerChanged': {
      const { admission, nonce } = transition;
      const { value, headers } = encodeMakerView(makerViewOf({ maker, admission, nonce }, position), context(maker));
      return [{ topic: topics.makers, partition, key: maker, value, headers }];
    }
    default:
      return never(transition);
  }
}

/** Where a fact stands, and what its messages carry on from it. */
interface Place {
  readonly partition: number;
  readonly topics: FeedTopics;
  readonly position: LogPosition;
  readonly context: (key: string) => MessageContext;
}

function placeOf({ offset, timeMs, traceparent }: LoggedFact, { partition, topics }: FeedRules): Place {
  return {
    partition,
    topics,
    position: { partition, offset: String(offset) },
    context: (key) => ({
      id: messageId(partition, offset, key),
      source,
      timeMs,
      ...(traceparent === undefined ? {} : { traceparent }),
    }),
  };
}

function withheld(open: OpenOrder, { partition, topics, position, context }: Place): LogRecord {
  const { orderHash, order, acceptedAtMs } = open;
  const record = { type: 'WithheldOrder' as const, orderHash, order: orderToBody(order), acceptedAtMs, position };
  const { value, headers } = encodeResumeRecord(record, context(`${orderHash}:withheld`));
  return { topic: topics.resume, partition, key: orderHash, value, headers };
}

/** One fact can open an order and remove it at once: the two messages have two ids. */
function leavesBook(
  orderHash: Hex,
  removal: RemovalReason | WithdrawalReason,
  { partition, topics, position, context }: Place,
): LogRecord {
  const headers = {
    ...messageHeaders('BookEntryRemoved', context(`${orderHash}:removed`)),
    removal,
    position_partition: String(position.partition),
    position_offset: position.offset,
  };
  return { topic: topics.book, partition, key: orderHash, value: null, headers };
}

function noLongerWithheld(orderHash: Hex, { partition, topics, context }: Place): LogRecord {
  const headers = messageHeaders('WithheldOrderRemoved', context(`${orderHash}:no-longer-withheld`));
  return { topic: topics.resume, partition, key: orderHash, value: null, headers };
}

function never(transition: never): never {
  throw new Error(`a transition that the feeds do not know: ${JSON.stringify(transition)}`);
}
