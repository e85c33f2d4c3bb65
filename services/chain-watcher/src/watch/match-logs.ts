import type { ChainLog } from '@makerbook/chain';
import type { Cause, OrderFill, TraceHeaders } from '@makerbook/contracts-events';
import { eventTopics } from '@makerbook/contracts-evm';
import { type Address, type Hex, type MonotonicMs, quantity } from '@makerbook/contracts-primitives';
import { addressIn, type TakingToken, type WatchedMaker, type WatchedPair } from './watched-maker.js';
import type { WatchedSet } from './watched-set.js';

/** The values of one maker to read, and the cause. Names orders by their hashes, because slots are reused. */
export interface MakerToRead {
  readonly maker: Address;
  readonly cause: Cause;
  nonce: boolean;
  readonly tokens: Set<Address>;
  /** The tokens that few other makers sell. The maker pays for reading these. */
  readonly ownTokens: Set<Address>;
  readonly orders: Set<Hex>;
  /** The orders that no key has signed, and whether the maker's contract accepts the signature. */
  readonly wallets: Map<Hex, boolean>;
  /** The tokens that the orders take and that are not known to have code, keyed by order hash. */
  readonly taking: Map<Hex, TakingToken>;
  /** True if the maker's contract has to be asked about signatures again. */
  signaturesUnread: boolean;
  /** Fills as the logs tell them. They are not read from the chain's state. */
  readonly fills: OrderFill[];
  /** The trace of the request that led to the reading. */
  readonly trace?: TraceHeaders | undefined;
}

/** First topics of the logs that can touch a maker. The protocol's topics count only from its own address. */
export const triggerTopics: readonly Hex[] = Object.values(eventTopics);

/** First topics of the protocol's own logs. */
export const protocolTopics: readonly Hex[] = [
  eventTopics.orderFilled,
  eventTopics.orderCancelled,
  eventTopics.allOrdersCancelled,
];

/** Makers to read, keyed by address. */
export class Touched {
  readonly makers = new Map<Address, MakerToRead>();
  /** Wallets that this watcher has no answer from yet, with a touched order that the log may hold as accepted. */
  readonly unanswered = new Set<WatchedMaker>();
  readonly #watched: WatchedSet;

  constructor(watched: WatchedSet) {
    this.#watched = watched;
  }

  /** Adds the maker if it is missing. Keeps the first cause. */
  maker({ address: maker }: Pick<WatchedMaker, 'address'>, cause: Cause, trace?: TraceHeaders): MakerToRead {
    const known = this.makers.get(maker);
    if (known !== undefined) return known;
    const tokens = { tokens: new Set<Address>(), ownTokens: new Set<Address>() };
    const orders = { orders: new Set<Hex>(), wallets: new Map<Hex, boolean>(), taking: new Map<Hex, TakingToken>() };
    const nothing = { nonce: false, ...tokens, ...orders, signaturesUnread: false, fills: [] };
    const toRead: MakerToRead = { maker, cause, ...nothing, trace };
    this.makers.set(maker, toRead);
    return toRead;
  }

  nonce(maker: WatchedMaker | undefined, cause: Cause): void {
    if (maker !== undefined) this.maker(maker, cause).nonce = true;
  }

  pair(pair: WatchedPair | undefined, cause: Cause, trace?: TraceHeaders): void {
    if (pair === undefined) return;
    const toRead = this.maker(pair.maker, cause, trace);
    toRead.tokens.add(pair.token);
    if (!this.#watched.isShared(pair.token)) toRead.ownTokens.add(pair.token);
  }

  /**
   * Adds the order with its pair and nonce. Does nothing if the slot is -1. A record that names an order has everything
   * to judge it by, because it may be the first. A fill moves the making token even if the token emits no log. An order
   * is not named before its wallet has answered.
   */
  order(slot: number, cause: Cause, trace?: TraceHeaders): void {
    if (slot < 0) return;
    const pair = this.#watched.pairOf(slot);
    this.pair(pair, cause, trace);
    const toRead = this.maker(pair.maker, cause, trace);
    toRead.nonce = true;
    const wallet = pair.maker.walletOrders.get(slot);
    if (wallet !== undefined && (wallet.isAccepted === undefined || toRead.signaturesUnread)) {
      if (wallet.told !== false) this.unanswered.add(pair.maker);
      return;
    }
    const orderHash = this.#watched.orderHash(slot);
    toRead.orders.add(orderHash);
    if (wallet?.isAccepted !== undefined) toRead.wallets.set(orderHash, wallet.isAccepted);
    const taking = this.#watched.takingOf(slot);
    if (taking.hasCode !== true) toRead.taking.set(orderHash, taking);
  }

  /**
   * Notes that a wallet may judge signatures differently from the block on. It is asked later: it may burn much gas.
   */
  signatures(maker: WatchedMaker, cause: Cause, block: number, nowMs: MonotonicMs): void {
    if (maker.walletOrders.size === 0) return;
    const toRead = this.maker(maker, cause);
    toRead.signaturesUnread = true;
    for (const orderHash of toRead.wallets.keys()) toRead.orders.delete(orderHash);
    toRead.wallets.clear();
    this.#watched.wallets.forget(maker, block, nowMs);
  }

  /** Adds the maker's nonce and all pairs, and all orders if wanted. */
  whole(maker: WatchedMaker, cause: Cause, withOrders: boolean): void {
    const toRead = this.maker(maker, cause);
    toRead.nonce = true;
    for (const pair of maker.pairs.values()) this.pair(pair, cause);
    if (withOrders) for (const order of maker.orders) this.order(order, cause);
  }

  /** Adds everything else of the touched makers, for a reading at another block than the one that touched them. */
  widen(block: number, nowMs: MonotonicMs): void {
    for (const { maker: address, cause } of this.makers.values()) {
      const maker = this.#watched.findMaker(address);
      if (maker === undefined) continue;
      this.signatures(maker, cause, block, nowMs);
      this.whole(maker, cause, true);
    }
  }
}

/** The data that logs are matched with. */
export interface LogMatch {
  readonly watched: WatchedSet;
  readonly protocol: Address;
  /** The times of the blocks with fills, in seconds since 1970, keyed by block number. */
  readonly times: ReadonlyMap<number, number>;
}

/**
 * Finds the makers that a block's logs touch, and what to read of each. Logs are triggers: their amounts are ignored,
 * except that those of fills are passed on. Costs a few table look-ups for each log, and nothing for orders that no log
 * names.
 */
export function matchLogs(
  logs: readonly ChainLog[],
  { watched, protocol, times }: LogMatch,
  touched = new Touched(watched),
): Touched {
  for (const [at, log] of logs.entries()) {
    const [topic, first, second] = log.topics;
    if (first === undefined) continue;
    const cause = causeOf(log);
    if (log.address === protocol) {
      if (topic === eventTopics.allOrdersCancelled) touched.nonce(watched.findMaker(first), cause);
      else if (second !== undefined && (topic === eventTopics.orderFilled || topic === eventTopics.orderCancelled)) {
        const order = watched.findOrder(second);
        touched.order(order, cause);
        if (topic === eventTopics.orderFilled && watched.knows(first)) {
          const maker = addressIn(first);
          const timestamp = times.get(log.blockNumber);
          const fill = { ...readFill(log, second), ...(timestamp !== undefined && { timestamp }) };
          const tokens =
            order >= 0
              ? { makingToken: watched.pairOf(order).token, takingToken: watched.takingOf(order).address }
              : tokensOf(logs, at, maker, fill.taker, protocol);
          touched.maker({ address: maker }, cause).fills.push({ ...fill, ...tokens });
        }
      }
    }
    switch (topic) {
      case eventTopics.transfer:
        touched.pair(watched.findPair(log.address, first), cause);
        if (second !== undefined) touched.pair(watched.findPair(log.address, second), cause);
        break;
      case eventTopics.approval:
        if (second?.endsWith(protocol.slice(2))) touched.pair(watched.findPair(log.address, first), cause);
        break;
      case eventTopics.deposit:
      case eventTopics.withdrawal:
        touched.pair(watched.findPair(log.address, first), cause);
        break;
    }
  }
  return touched;
}

/** A log as the cause of a reading. */
export function causeOf({ transactionHash, logIndex }: ChainLog): Cause {
  return { kind: 'log', transactionHash, logIndex };
}

/** The data of `OrderFilled`: taker, making amount, taking amount and what remains, a word each. */
function readFill({ data, blockNumber, transactionHash, logIndex }: ChainLog, orderHash: Hex): OrderFill {
  const word = (at: number): Hex => `0x${data.slice(2 + at * 64, 2 + (at + 1) * 64)}`;
  return {
    orderHash,
    taker: addressIn(word(0)),
    makingAmount: quantity(BigInt(word(1))),
    takingAmount: quantity(BigInt(word(2))),
    remaining: quantity(BigInt(word(3))),
    blockNumber,
    transactionHash,
    logIndex,
  };
}

/**
 * Finds the tokens of a fill in the logs after it. The protocol logs the fill, then has the taking token moved to the
 * maker, and then the making token to the taker. What other contracts log after that is ignored.
 */
function tokensOf(
  logs: readonly ChainLog[],
  at: number,
  maker: Address,
  taker: Address,
  protocol: Address,
): Pick<OrderFill, 'makingToken' | 'takingToken'> {
  const tokens: { takingToken?: Address } = {};
  for (let next = at + 1; ; next += 1) {
    const log = logs[next];
    if (log === undefined || log.transactionHash !== logs[at]?.transactionHash || isFill(log, protocol)) return tokens;
    const [topic, from, to] = log.topics;
    if (topic !== eventTopics.transfer || from === undefined || to === undefined) continue;
    const [sender, receiver] = [addressIn(from), addressIn(to)];
    if (tokens.takingToken === undefined && sender === taker && receiver === maker) tokens.takingToken = log.address;
    else if (sender === maker && receiver === taker) return { ...tokens, makingToken: log.address };
  }
}

/** True if the log is a fill by the protocol. */
export function isFill({ address, topics }: Pick<ChainLog, 'address' | 'topics'>, protocol: Address): boolean {
  return address === protocol && topics[0] === eventTopics.orderFilled;
}
