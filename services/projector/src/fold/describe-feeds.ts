import type { BookDigest } from '@makerbook/book';
import {
  type BlockProcessed,
  type BookRemovalReason,
  bookClockKey,
  bookRemovalHeaders,
  decodeBookRecord,
  encodeBookRecord,
  encodeFill,
  encodeMakersRecord,
  fillKey,
  type LogPosition,
  type MakerObserved,
  type Message,
  type MessageContext,
  type ServiceMode,
  serviceKey,
  type TopicNames,
  traceOf,
} from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { bookEntryOf, fillsOf, makerViewOf, type Transition } from '@makerbook/domain';
import type { LogRecord, StoredRecord } from '@makerbook/kafka';
import type { LoggedFact } from './read-facts.js';

/** Names a message of a partition: the offset of its fact, and its number among the messages of that fact. */
interface MessagePlace {
  readonly offset: bigint;
  readonly index: number;
}

/** The last message on the feeds of a partition. */
export interface FeedEnd extends MessagePlace {
  /** The maker of the message's order; undefined if it is about no order. */
  readonly maker: Address | undefined;
}

export interface FeedRules {
  readonly partition: number;
  readonly topics: TopicNames;
  readonly routingGraceSeconds: number;
  /** The end of the feeds when the partition was taken: nothing up to it is published again. */
  readonly published: FeedEnd | undefined;
}

/**
 * The numbered feed messages of one fact. A fact always leads to the same messages, whenever and in however many
 * batches it is folded: they depend only on the log and on the rows of their maker. Each message is in the partition of
 * its fact.
 */
export class FactFeed {
  readonly fact: LoggedFact;
  /** The number of the next message. */
  #index: number;
  readonly #rules: FeedRules;
  readonly #out: LogRecord[];
  readonly #position: LogPosition;

  /** @param out takes the messages to publish */
  constructor(fact: LoggedFact, rules: FeedRules, out: LogRecord[]) {
    this.#index = rules.published?.offset === fact.offset ? rules.published.index + 1 : 0;
    this.fact = fact;
    this.#rules = rules;
    this.#out = out;
    this.#position = { partition: rules.partition, offset: String(fact.offset) };
  }

  /**
   * True if the feeds already had the fact's messages for this maker, or for no maker, when the partition was taken.
   * The messages of a fact are published together. The messages of a block may be published in parts: whole makers, by
   * address, and the clock with the last part.
   */
  isPublished(maker: Address | undefined): boolean {
    const { published } = this.#rules;
    const { fact, offset } = this.fact;
    if (published === undefined || offset > published.offset) return false;
    if (offset < published.offset || fact.type !== 'BlockProcessed' || published.maker === undefined) return true;
    return maker !== undefined && maker <= published.maker;
  }

  /** Adds the fills of a reading, including those of orders that are not open, and of a maker in quarantine. */
  fills(fact: MakerObserved): void {
    for (const fill of fillsOf(fact, this.#position)) {
      this.#add(this.#rules.topics.fills, fillKey(fill), fact.maker, (context) => encodeFill(fill, context));
    }
  }

  /** Adds the messages of the transitions. Throws if one cannot be described, and then adds none. */
  transitions(transitions: readonly Transition[], maker: Address): void {
    const before = { index: this.#index, messages: this.#out.length };
    try {
      for (const transition of transitions) this.#transition(transition, maker);
    } catch (error) {
      this.#index = before.index;
      this.#out.length = before.messages;
      throw error;
    }
  }

  /** A change of an order that is out of the book has no message. */
  #transition(transition: Transition, maker: Address): void {
    switch (transition.kind) {
      case 'OrderChanged':
      case 'FundsChanged':
        return this.#entry(transition);
      case 'OrderWithheld':
        return this.withdraw(transition.order.orderHash, transition.reason, maker);
      case 'OrderRemoved':
        if (transition.order.inBook) this.withdraw(transition.order.orderHash, transition.reason, maker);
        return;
      case 'MakerChanged': {
        const view = makerViewOf({ ...transition, maker }, this.#position);
        return this.#add(this.#rules.topics.makers, maker, maker, (context) => encodeMakersRecord(view, context));
      }
      case 'OrderOpened':
      case 'OrderObserved':
      case 'HashCancelled':
        return;
      default:
        return never(transition);
    }
  }

  /** Publishes that an order leaves the book. */
  withdraw(orderHash: Hex, removal: BookRemovalReason, maker: Address): void {
    this.#add(this.#rules.topics.book, orderHash, maker, (context) => {
      return { value: null, headers: bookRemovalHeaders(removal, maker, this.#position, context) };
    });
  }

  /** Publishes the mode of the whole service. */
  mode(mode: ServiceMode): void {
    const view = { type: 'ServiceView', mode, position: this.#position } as const;
    this.#add(this.#rules.topics.makers, serviceKey, undefined, (context) => encodeMakersRecord(view, context));
  }

  /** Adds the last message of a block. @param log the name of the log's partition */
  clock(block: BlockProcessed['block'], book: BookDigest, log: string | undefined): void {
    const { partition, topics } = this.#rules;
    const position = { partition, offset: String(this.fact.offset + 1n) };
    this.#add(topics.book, bookClockKey(partition), undefined, (context) => {
      return encodeBookRecord({ type: 'BookClock', block, position, log, book }, context);
    });
  }

  #entry({ order, funding, causes }: Extract<Transition, { readonly causes: unknown }>): void {
    if (!order.inBook) return;
    const entry = bookEntryOf(order, funding, causes, this.#position, this.#rules);
    this.#add(this.#rules.topics.book, order.orderHash, order.order.maker, (context) =>
      encodeBookRecord(entry, context),
    );
  }

  #add(
    topic: string,
    key: string,
    maker: Address | undefined,
    encode: (context: MessageContext) => Pick<Message, 'headers'> & { readonly value: Buffer | null },
  ): void {
    if (this.isPublished(maker)) return;
    const { partition } = this.#rules;
    const { offset, timeMs, record } = this.fact;
    const id = `${partition}:${offset}:${this.#index}`;
    this.#index += 1;
    const trace = traceOf(record.headers);
    const { value, headers } = encode({ id, source: '/makerbook/projector', timeMs, trace });
    this.#out.push({ topic, partition, key, value, headers });
  }
}

/** The place of a feed message by its id; undefined if the projector did not make the id. */
export function factOfMessage({
  headers,
  partition,
}: Pick<StoredRecord, 'headers' | 'partition'>): MessagePlace | undefined {
  const [, home, offset, index] = /^(\d+):(\d+):(\d+)$/.exec(headers['ce_id'] ?? '') ?? [];
  if (offset === undefined || home !== String(partition)) return undefined;
  return { offset: BigInt(offset), index: Number(index) };
}

/** The maker of the order that a message of the book is about. */
export function makerOfMessage({ headers, value }: Pick<StoredRecord, 'headers' | 'value'>): Address | undefined {
  if (value === null) return headers['maker'] as Address | undefined;
  const record = decodeBookRecord({ headers: { ...headers }, value });
  return 'order' in record ? record.order.maker : undefined;
}

function never(transition: never): never {
  throw new Error(`a transition that the feeds do not know: ${JSON.stringify(transition)}`);
}
