import type { BookEntry, MakerEvent } from '@makerbook/contracts-events';
import { partitionOf } from '@makerbook/kafka';
import { type FollowedTopics, followTopics, type OrderChange } from '../kit/follow-topics.js';

/** One message to the router about an order. */
export interface Message {
  /** `gone`, or status or reason, and what remains. */
  readonly says: string;
  /** Why it was taken from the feed. */
  readonly removal: string | undefined;
  /** What the message says in full; undefined where the order is gone. */
  readonly entry: BookEntry | undefined;
  /** Where the fact stands that led to it. */
  readonly offset: bigint;
}

/** The router's feed, and the log's clock beside it. Each call throws once a message came twice, too late, or cannot be read. */
export interface Feed extends Pick<FollowedTopics, 'block' | 'bookBlock' | 'close'> {
  /** Every message about an order, as they came. */
  messages(orderHash: string): readonly Message[];
  /** Where in the log a block was processed, for this maker; undefined where it was left out. */
  processedAt(maker: string, block: number): bigint | undefined;
  /** The newest block that was processed before this place in the log. */
  processedBefore(maker: string, offset: bigint): number;
  /** The newest block at which the maker was read, by the readings up to this place in the log; 0 where there is none. */
  readUpTo(maker: string, offset: bigint): number;
  /** Where in the log DELETE took the order from the service. */
  deletedAt(orderHash: string): bigint | undefined;
  /** The funds of a pair by the newest reading up to this place in the log; undefined where there is none. */
  fundsAt(maker: string, token: string, offset: bigint): Record<Fund, bigint | undefined>;
  /** The last facts about a maker and the blocks between them, a line each, for a person who has to find out why. */
  recent(maker: string): readonly string[];
}

/** What decides whether an order can be filled. */
export type Fund = 'balance' | 'allowance';

const LINES_MAX = 80;

/** Follows both topics from their beginning, as the router would. */
export function followFeed(kafkaBrokers: string, topicPrefix: string, partitions: number): Feed {
  const deletions = new Map<string, bigint>();
  /** By maker, and by maker and token, in the order of the log. */
  const readings = new Map<string, Reading[]>();
  const funds = new Map<string, (Reading & Record<Fund, bigint>)[]>();
  const homeOf = (maker: string) => partitionOf(maker, partitions);
  const topics = followTopics({
    kafkaBrokers,
    topicPrefix,
    partitions,
    onFact: (fact, { offset, counts }) => {
      if (fact.type === 'OrderCancelled' && !deletions.has(fact.orderHash)) deletions.set(fact.orderHash, offset);
      if (fact.type !== 'MakerObserved' || !counts) return;
      const reading = { block: fact.block.number, offset };
      add(readings, fact.maker, reading);
      for (const { token, balance, allowance } of fact.funds) {
        const values = { balance: BigInt(balance), allowance: BigInt(allowance) };
        add(funds, `${fact.maker} ${token}`, { ...reading, ...values });
      }
    },
  });
  return {
    ...topics,
    messages: (orderHash) => topics.changes(orderHash).map(read),
    processedAt: (maker, block) => topics.processed(homeOf(maker)).find((each) => each.block === block)?.offset,
    processedBefore: (maker, offset) =>
      topics.processed(homeOf(maker)).findLast((each) => each.offset < offset)?.block ?? 0,
    readUpTo: (maker, offset) => newest(readings.get(maker), offset)?.block ?? 0,
    deletedAt: (orderHash) => deletions.get(orderHash),
    fundsAt: (maker, token, offset) => {
      const { balance, allowance } = newest(funds.get(`${maker} ${token}`), offset) ?? {};
      return { balance, allowance };
    },
    recent: (wanted) =>
      [...topics.facts(homeOf(wanted))]
        .filter(([, fact]) => !('maker' in fact) || fact.maker === wanted)
        .slice(-LINES_MAX)
        .map(([offset, fact]) => `${offset} ${lineOf(fact)}`),
  };
}

interface Reading {
  readonly block: number;
  readonly offset: bigint;
}

function add<Value>(lists: Map<string, Value[]>, key: string, value: Value): void {
  const before = lists.get(key);
  if (before === undefined) lists.set(key, [value]);
  else before.push(value);
}

/** Of the readings up to this place in the log the one at the newest block, and of several the last. */
function newest<Value extends Reading>(readings: readonly Value[] | undefined, offset: bigint): Value | undefined {
  return (readings ?? [])
    .filter((reading) => reading.offset <= offset)
    .reduce<Value | undefined>((best, each) => (each.block >= (best?.block ?? 0) ? each : best), undefined);
}

function lineOf(fact: MakerEvent): string {
  const { type } = fact;
  switch (type) {
    case 'BlockProcessed':
      return `${type} ${fact.block.number}`;
    case 'MakerObserved': {
      const funds = fact.funds.map(
        ({ token, balance, allowance }) => `${token.slice(0, 8)} has ${BigInt(balance)}, allows ${BigInt(allowance)}`,
      );
      const orders = fact.orders.map(
        ({ orderHash, filled, cancelled }) =>
          `${orderHash.slice(0, 10)} filled ${BigInt(filled)}${cancelled ? ' cancelled' : ''}`,
      );
      const nonce = fact.nonce === undefined ? [] : [`nonce ${BigInt(fact.nonce)}`];
      return `${type} at ${fact.block.number}: ${[...nonce, ...funds, ...orders].join(', ')}`;
    }
    case 'OrderSubmitted':
    case 'OrderCancelled':
      return `${type} ${fact.orderHash.slice(0, 10)}`;
    default:
      return type;
  }
}

/** The last message of those that were led to by facts up to this place in the log; undefined before the first. */
export function lastUpTo(messages: readonly Message[], offset: bigint): Message | undefined {
  return messages.findLast((each) => each.offset <= offset);
}

function read(change: OrderChange): Message {
  const { offset } = change.id;
  if (change.kind === 'removed') return { says: 'gone', removal: change.removal, entry: undefined, offset };
  const { entry } = change;
  const status = entry.status === 'INACTIVE' ? entry.reason : entry.status;
  return { says: `${status} ${BigInt(entry.remainingMakingAmount)}`, removal: undefined, entry, offset };
}
