import type { ChainLog } from '@makerbook/chain';
import type { Cause } from '@makerbook/contracts-events';
import { type Address, eventTopics, type Hex } from '@makerbook/contracts-evm';
import type { WatchedSet } from './keep-watched-set.js';

/** Whose state on the chain may be another one, and why we think so. Addresses and hashes, as slots may be reused. */
export interface Touched {
  readonly pairs: TouchedPair[];
  readonly makers: TouchedMaker[];
  readonly orders: TouchedOrder[];
}

export interface TouchedPair {
  readonly maker: Address;
  readonly token: Address;
  readonly cause: Cause;
}

export interface TouchedMaker {
  readonly maker: Address;
  readonly cause: Cause;
}

export interface TouchedOrder {
  readonly maker: Address;
  readonly orderHash: Hex;
  readonly cause: Cause;
}

/** First topics of the logs that can touch anybody; those of the protocol count only from its own address. */
export const triggerTopics: readonly Hex[] = Object.values(eventTopics);

/** First topics of the protocol's own logs. */
export const protocolTopics: readonly Hex[] = [
  eventTopics.orderFilled,
  eventTopics.orderCancelled,
  eventTopics.allOrdersCancelled,
];

/**
 * The watched pairs, makers and orders that the logs of a block touch, each once, with the first log that touched it.
 * Logs are triggers: what they say of amounts is not looked at. Costs a few table look-ups per log, and nothing for
 * pairs and orders that no log names.
 * @param joined slots of pairs that are to be read too, with their makers, whether a log touches them or not
 */
export function matchLogs(
  logs: readonly ChainLog[],
  watched: WatchedSet,
  protocol: Address,
  joined: readonly number[] = [],
): Touched {
  const touched: Touched = { pairs: [], makers: [], orders: [] };
  const pairs = new Set<number>();
  const makers = new Set<number>();
  const orders = new Set<number>();

  const touchPair = (pair: number, cause: Cause) => {
    if (pair < 0 || pairs.has(pair)) return;
    pairs.add(pair);
    touched.pairs.push(pairAt(pair, watched, cause));
  };
  const touchMaker = (maker: number, cause: Cause) => {
    if (maker < 0 || makers.has(maker)) return;
    makers.add(maker);
    touched.makers.push({ maker: watched.makerAddress(maker), cause });
  };
  /** A fill moves the making token too, whether the token says so or not. */
  const touchOrder = (order: number, cause: Cause) => {
    if (order < 0) return;
    const pair = watched.pairOf(order);
    touchPair(pair, cause);
    if (orders.has(order)) return;
    orders.add(order);
    const maker = watched.makerAddress(watched.makerOf(pair));
    touched.orders.push({ maker, orderHash: watched.orderHash(order), cause });
  };

  for (const log of logs) {
    const [topic, first, second] = log.topics;
    if (first === undefined) continue;
    const cause = causeOf(log);
    if (log.address === protocol) {
      if (topic === eventTopics.allOrdersCancelled) touchMaker(watched.findWatchedMaker(first), cause);
      else if (second !== undefined && (topic === eventTopics.orderFilled || topic === eventTopics.orderCancelled)) {
        touchOrder(watched.findOpenOrder(second), cause);
      }
    }
    if (!watched.isTokenWatched(log.address)) continue;
    switch (topic) {
      case eventTopics.transfer:
        touchPair(watched.findPair(log.address, first), cause);
        if (second !== undefined) touchPair(watched.findPair(log.address, second), cause);
        break;
      case eventTopics.approval:
        if (second?.endsWith(protocol.slice(2))) touchPair(watched.findPair(log.address, first), cause);
        break;
      case eventTopics.deposit:
      case eventTopics.withdrawal:
        touchPair(watched.findPair(log.address, first), cause);
        break;
    }
  }
  for (const pair of joined) {
    touchPair(pair, JOINED);
    touchMaker(watched.makerOf(pair), JOINED);
  }
  return touched;
}

/** The watched pair with this slot. */
export function pairAt(pair: number, watched: WatchedSet, cause: Cause): TouchedPair {
  return { maker: watched.makerAddress(watched.makerOf(pair)), token: watched.tokenAddress(pair), cause };
}

const JOINED: Cause = { kind: 'read', occasion: 'ORDER' };

function causeOf({ transactionHash, logIndex }: ChainLog): Cause {
  return { kind: 'log', transactionHash, logIndex };
}
