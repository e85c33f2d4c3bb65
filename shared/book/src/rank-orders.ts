import type { BookClock, BookEntry } from '@makerbook/contracts-events';
import { type Address, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import btree from 'sorted-btree';
import type { BookChange } from './book.js';

// The module is CommonJS.
const { default: BTree } = btree;

/**
 * The tokens that a taker pays and gets: the taking and the making token of the matching orders. Addresses in
 * lowercase.
 */
export interface Pair {
  readonly tokenIn: Address;
  readonly tokenOut: Address;
}

export interface When {
  /** Unix seconds. An order is used only before its `routableUntil`. */
  readonly nowSeconds: number;
  /** Orders of a partition whose clock is older are not used. Defaults to 5. */
  readonly staleSecondsMax?: number;
}

/** How much of an order can be filled, after the orders before it have taken their part of the maker's funds. */
export interface Executable {
  readonly entry: BookEntry;
  /** The amount of tokenOut. */
  readonly makingAmount: bigint;
}

/** An order, ranked in its pair. */
interface Ranked {
  readonly entry: BookEntry;
  /** The approximate price. It decides most comparisons, and costs a tenth of the exact one. */
  readonly price: number;
}

/** The funds of a maker in one token, by the newest reading. */
interface Funds {
  amount: bigint;
  block: number;
  /** How many orders of the maker carry a reading. The funds are dropped with the last one. */
  orders: number;
}

/**
 * The orders that can be filled, by price in each pair. Apply each change of a book, from the first one on. A change
 * costs a search in its pair. The entries are those of the book, not copies.
 */
export class RankedOrders {
  readonly #pairs = new Map<string, btree.default<Ranked, undefined>>();
  /** Keyed by token, then maker. */
  readonly #funds = new Map<Address, Map<Address, Funds>>();
  readonly #clocks = new Map<number, BookClock>();

  apply(change: BookChange): void {
    if (change.kind === 'clock') {
      this.#clocks.set(change.clock.position.partition, change.clock);
      return;
    }
    const { before } = change;
    const after = change.kind === 'entry' ? change.entry : undefined;
    if (before !== undefined && isFillable(before)) this.#remove(before);
    if (after !== undefined && isFillable(after)) this.#add(after);
    this.#count(before, after);
  }

  /** Every pair with an order, and its number of orders. */
  *pairs(): Generator<Pair & { readonly orders: number }, void, void> {
    for (const [pair, { size }] of this.#pairs) {
      const [tokenIn, tokenOut] = [pair.slice(0, pair.length / 2), pair.slice(pair.length / 2)] as [Address, Address];
      yield { tokenIn, tokenOut, orders: size };
    }
  }

  /** Yields the orders of the pair, the best price first, then the oldest. Valid until the next change. */
  *executable(
    { tokenIn, tokenOut }: Pair,
    { nowSeconds, staleSecondsMax = 5 }: When,
  ): Generator<Executable, void, void> {
    const funds = this.#funds.get(tokenOut);
    const left = new Map<Address, bigint>();
    for (const { entry } of this.#pairs.get(`${tokenIn}${tokenOut}`)?.keys() ?? []) {
      const clock = this.#clocks.get(entry.position.partition)?.block.timestamp ?? 0;
      if (nowSeconds >= entry.routableUntil || nowSeconds - clock > staleSecondsMax) continue;
      const { maker } = entry.order;
      const available = left.get(maker) ?? funds?.get(maker)?.amount ?? 0n;
      if (available === 0n) continue;
      const makingAmount = min(BigInt(entry.remainingMakingAmount), available);
      left.set(maker, available - makingAmount);
      yield { entry, makingAmount };
    }
  }

  /** The lowest block up to which the orders' partitions are complete; undefined without orders. */
  blockOf(orders: Iterable<Executable>): BookClock['block'] | undefined {
    let lowest: BookClock['block'] | undefined;
    for (const { entry } of orders) {
      const block = this.#clocks.get(entry.position.partition)?.block;
      if (block !== undefined && block.number < (lowest?.number ?? Number.POSITIVE_INFINITY)) lowest = block;
    }
    return lowest;
  }

  #add(entry: BookEntry): void {
    const pair = pairOf(entry);
    const orders = this.#pairs.get(pair) ?? new BTree<Ranked, undefined>(undefined, byPrice);
    this.#pairs.set(pair, orders);
    orders.set(rankOf(entry), undefined);
  }

  #remove(entry: BookEntry): void {
    const pair = pairOf(entry);
    const orders = this.#pairs.get(pair);
    orders?.delete(rankOf(entry));
    if (orders?.size === 0) this.#pairs.delete(pair);
  }

  /** Keeps the newest funds. The feed tells new funds in one order only, so another order may have newer ones. */
  #count(before: BookEntry | undefined, after: BookEntry | undefined): void {
    const order = (after ?? before)?.order;
    if (order === undefined) return;
    const { maker, making } = order;
    const makers = this.#funds.get(making.token) ?? new Map<Address, Funds>();
    const funds = makers.get(maker) ?? { amount: 0n, block: 0, orders: 0 };
    funds.orders += Number(hasFunds(after)) - Number(hasFunds(before));
    if (hasFunds(after) && after.funding.block >= funds.block) {
      funds.amount = min(BigInt(after.funding.balance), BigInt(after.funding.allowance));
      funds.block = after.funding.block;
    }
    if (funds.orders > 0) this.#funds.set(making.token, makers.set(maker, funds));
    else makers.delete(maker);
    if (makers.size === 0) this.#funds.delete(making.token);
  }
}

const pairOf = ({ order }: BookEntry) => `${order.taking.token}${order.making.token}`;

function isFillable({ status, order }: BookEntry): boolean {
  return status === 'ACTIVE' && order.permittedTaker === ZERO_ADDRESS;
}

function hasFunds(entry: BookEntry | undefined): entry is Extract<BookEntry, { funding: object }> {
  return entry !== undefined && entry.status !== 'VALIDATING';
}

export function min(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

function rankOf(entry: BookEntry): Ranked {
  return { entry, price: Number(entry.order.taking.amount) / Number(entry.order.making.amount) };
}

function byPrice({ entry: one, price }: Ranked, { entry: other, price: otherPrice }: Ranked): number {
  if (Math.abs(price - otherPrice) > price * 1e-12) return price - otherPrice;
  const [a, b] = [one.order, other.order];
  const exact = BigInt(a.taking.amount) * BigInt(b.making.amount) - BigInt(b.taking.amount) * BigInt(a.making.amount);
  if (exact !== 0n) return exact < 0n ? -1 : 1;
  if (one.acceptedAtMs !== other.acceptedAtMs) return one.acceptedAtMs - other.acceptedAtMs;
  return one.orderHash < other.orderHash ? -1 : Number(one.orderHash > other.orderHash);
}
