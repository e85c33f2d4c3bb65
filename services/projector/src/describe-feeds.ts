import {
  encodeBookEntry,
  encodeMakerView,
  encodeResumeRecord,
  type LogPosition,
  type MessageContext,
  messageHeaders,
} from '@makerbook/contracts-events';
import { bookEntryOf, makerViewOf, type OpenOrder, orderToBody } from '@makerbook/domain';
import type { LogRecord } from '@makerbook/kafka';
import { type Happened, UnfoldableFact } from './fold-facts.js';
import type { FeedTopics } from './publish-feeds.js';

const source = '/makerbook/projector';

export interface FeedRules {
  readonly partition: number;
  readonly topics: FeedTopics;
  readonly routingGraceSeconds: number;
}

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
      throw new UnfoldableFact(one.transition.offset, error);
    }
  });
}

function describeOne({ transition, maker, source: fact }: Happened, rules: FeedRules): LogRecord[] {
  const { partition, topics } = rules;
  const position: LogPosition = { partition, offset: String(transition.offset) };
  const context = (key: string): MessageContext => ({
    id: `${partition}:${transition.offset}:${key}`,
    source,
    timeMs: fact.timeMs,
    ...(fact.traceparent === undefined ? {} : { traceparent: fact.traceparent }),
  });
  switch (transition.kind) {
    case 'OrderOpened':
    case 'OrderChanged': {
      const { order, funding } = transition;
      if (!order.inBook) return transition.kind === 'OrderOpened' ? [withheld(order)] : [];
      const entry = bookEntryOf(order, funding, position, rules);
      const { value, headers } = encodeBookEntry(entry, context(order.orderHash));
      return [{ topic: topics.book, partition, key: order.orderHash, value, headers }];
    }
    case 'OrderObserved':
      return [];
    case 'OrderWithheld':
      return [withheld(transition.order), leavesBook(transition.order.orderHash, 'GRACE_PERIOD')];
    case 'OrderRemoved':
      return transition.order.inBook
        ? [leavesBook(transition.order.orderHash, transition.reason)]
        : [noLongerWithheld(transition.order.orderHash)];
    case 'MakerChanged': {
      const { admission, nonce } = transition;
      const { value, headers } = encodeMakerView(makerViewOf({ maker, admission, nonce }, position), context(maker));
      return [{ topic: topics.makers, partition, key: maker, value, headers }];
    }
    default:
      return never(transition);
  }

  function withheld({ orderHash, order, acceptedAtMs }: OpenOrder): LogRecord {
    const record = { type: 'WithheldOrder' as const, orderHash, order: orderToBody(order), acceptedAtMs, position };
    const { value, headers } = encodeResumeRecord(record, context(`${orderHash}:withheld`));
    return { topic: topics.resume, partition, key: orderHash, value, headers };
  }

  /** One fact can open an order and remove it at once: the two messages have two ids. */
  function leavesBook(orderHash: string, removal: string): LogRecord {
    const headers = {
      ...messageHeaders('BookEntryRemoved', context(`${orderHash}:removed`)),
      removal,
      position_partition: String(position.partition),
      position_offset: position.offset,
    };
    return { topic: topics.book, partition, key: orderHash, value: null, headers };
  }

  function noLongerWithheld(orderHash: string): LogRecord {
    const headers = messageHeaders('WithheldOrderRemoved', context(`${orderHash}:no-longer-withheld`));
    return { topic: topics.resume, partition, key: orderHash, value: null, headers };
  }
}

function never(transition: never): never {
  throw new Error(`a transition that the feeds do not know: ${JSON.stringify(transition)}`);
}
