import type { BookEntry } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import type { Asked } from '../quote-orders.js';
import type { Given, openRouterBook } from './router-book.js';

/** One change of a book. */
export interface Operation {
  readonly name: string;
  readonly what: 'put' | 'FILLED' | 'CANCELLED';
  readonly given: Given & { readonly making: bigint; readonly taking: bigint; readonly remaining: bigint };
}

type RouterBook = ReturnType<typeof openRouterBook>;

/** The orders of one pair, and everything that happened to orders that sell its making token. */
export interface OracleBook {
  readonly entries: ReadonlyMap<string, BookEntry>;
  readonly changes: readonly (
    | { readonly kind: 'entry'; readonly entry: BookEntry }
    | { readonly kind: 'removed'; readonly orderHash: Hex }
    | { readonly kind: 'clock' }
  )[];
}

/** Applies the operation. An order keeps its maker, amounts and acceptance. */
export function playOperation(book: RouterBook, { name, what, given }: Operation): void {
  const before = book.entries.get(`0x${name.repeat(32)}`);
  if (what !== 'put') {
    if (before !== undefined) book.remove(name, what);
    return;
  }
  const { making, taking, remaining, ...others } = given;
  const kept =
    before === undefined
      ? { making, taking }
      : {
          making: BigInt(before.order.making.amount),
          taking: BigInt(before.order.taking.amount),
          maker: before.order.maker.slice(-1),
          acceptedAtMs: before.acceptedAtMs,
        };
  book.put(name, { ...others, ...kept, remaining: remaining < kept.making ? remaining : kept.making });
}

interface Offer {
  readonly name: string;
  readonly entry: BookEntry;
  readonly executable: bigint;
}

export interface OracleOptions {
  readonly backups: number;
  readonly ordersMax: number;
  /** The least that an order must give to be worth its gas; undefined: a thousandth of the quote. */
  readonly gasFloor: bigint | undefined;
  /** Default 1,000. */
  readonly nowSeconds?: number;
}

/**
 * Ladder and quote of one pair, found without any index. Sorts all orders, and tries each number of orders and each
 * amount.
 */
export function askOracle(book: OracleBook, asked: Asked, options: OracleOptions) {
  const offers = offersOf(book, options.nowSeconds ?? 1_000);
  const { fills, unfilled, amountIn, amountOut, passedOver, isDust, looked } = fillAsked(offers, asked, options);
  const next = [...unfilled, ...offers.slice(looked)];
  const isCovered = (some: readonly Offer[]) => sumOf(some) * 100n >= amountOut * BigInt(options.backups);
  const spares = leastOf(next, isCovered, isDust, options.ordersMax - fills.length).orders;
  const levels = Map.groupBy(
    offers,
    ({ entry }) => Number(entry.order.taking.amount) / Number(entry.order.making.amount),
  );
  return {
    quote: {
      fills: fills.map(({ offer, amount }) => [offer.name, amount, costOf(offer.entry, amount)]),
      spares: spares.map(({ name, executable }) => [name, executable]),
      amountIn,
      amountOut,
      passedOver,
    },
    levels: [...levels.values()].map((level) => [
      level.reduce((sum, { entry, executable }) => sum + costOf(entry, executable), 0n),
      sumOf(level),
      level.length,
    ]),
  };
}

type IsDust = (offer: Offer) => boolean;

function fillAsked(offers: readonly Offer[], asked: Asked, { ordersMax, gasFloor }: OracleOptions) {
  const isEnough = (some: readonly Offer[]) =>
    'amountIn' in asked
      ? some.reduce((sum, { entry, executable }) => sum + costOf(entry, executable), 0n) >= asked.amountIn
      : sumOf(some) >= asked.amountOut;
  const fill = (isDust: IsDust) => {
    const { orders, passedOver } = leastOf(offers, isEnough, isDust, ordersMax);
    const fills: { readonly offer: Offer; readonly amount: bigint }[] = [];
    const unfilled: Offer[] = [];
    let [amountIn, amountOut] = [0n, 0n];
    for (const offer of orders) {
      const most = mostOf(offer, asked, amountIn, amountOut);
      // Do not spend the rest on a fill that is not worth its gas.
      const amount = 'amountIn' in asked && most < (gasFloor ?? 0n) ? 0n : most;
      if (amount > 0n) fills.push({ offer, amount });
      else unfilled.push(offer);
      amountIn += costOf(offer.entry, amount);
      amountOut += amount;
    }
    const looked = orders.length + passedOver;
    return { fills, unfilled, amountIn, amountOut, passedOver, isDust, looked, isEnough: isEnough(orders) };
  };
  if (gasFloor !== undefined) return fill(({ executable }) => executable < gasFloor);
  const whole = fill(() => false);
  const fair = fill(({ executable }) => executable * 1_000n < whole.amountOut);
  return whole.isEnough && fair.isEnough ? fair : whole;
}

/** Takes as few of the best offers as are enough, without dust. Of these, keeps the `countMax` that give most. */
function leastOf(
  offers: readonly Offer[],
  isEnough: (some: readonly Offer[]) => boolean,
  isDust: IsDust,
  countMax: number,
) {
  for (let count = countMax > 0 ? 0 : offers.length; ; count += 1) {
    const worth = offers.slice(0, count).filter((offer) => !isDust(offer));
    const kept = worth.toSorted((a, b) => Number(b.executable - a.executable)).slice(0, countMax);
    const orders = worth.filter((offer) => kept.includes(offer));
    if (isEnough(orders) || count >= offers.length) return { orders, passedOver: count - orders.length };
  }
}

const sumOf = (offers: readonly Offer[]) => offers.reduce((sum, { executable }) => sum + executable, 0n);

function mostOf({ entry, executable }: Offer, asked: Asked, amountIn: bigint, amountOut: bigint): bigint {
  for (let amount = executable; amount > 0n; amount -= 1n) {
    const fits =
      'amountIn' in asked ? amountIn + costOf(entry, amount) <= asked.amountIn : amountOut + amount <= asked.amountOut;
    if (fits) return amount;
  }
  return 0n;
}

function costOf({ order }: BookEntry, amount: bigint): bigint {
  const [making, taking] = [BigInt(order.making.amount), BigInt(order.taking.amount)];
  const cost = (amount * taking) / making;
  return cost * making < amount * taking ? cost + 1n : cost;
}

function offersOf(book: OracleBook, nowSeconds: number): Offer[] {
  const priceOf = ({ order }: BookEntry) => Number(order.taking.amount) / Number(order.making.amount);
  const sorted = [...book.entries]
    .filter(([, { status, routableUntil }]) => status === 'ACTIVE' && routableUntil > nowSeconds)
    .sort(
      ([hash, one], [other, two]) =>
        priceOf(one) - priceOf(two) || one.acceptedAtMs - two.acceptedAtMs || (hash < other ? -1 : 1),
    );
  const funds = fundsOf(book);
  return sorted.flatMap(([hash, entry]) => {
    const left = funds.get(entry.order.maker) ?? 0n;
    const remaining = BigInt(entry.remainingMakingAmount);
    const executable = remaining < left ? remaining : left;
    funds.set(entry.order.maker, left - executable);
    return executable === 0n ? [] : [{ name: hash.slice(2, 4), entry, executable }];
  });
}

/** Keyed by maker: the reading of the highest block since the maker last had no order. */
function fundsOf({ changes }: OracleBook): Map<string, bigint> {
  const open = new Map<string, BookEntry>();
  const known = new Map<string, { amount: bigint; block: number }>();
  for (const change of changes) {
    if (change.kind === 'entry' && change.entry.status !== 'VALIDATING') {
      const { orderHash, order, funding } = change.entry;
      open.set(orderHash, change.entry);
      const [balance, allowance] = [BigInt(funding.balance), BigInt(funding.allowance)];
      const isNewest = funding.block >= (known.get(order.maker)?.block ?? 0);
      if (isNewest) known.set(order.maker, { amount: balance < allowance ? balance : allowance, block: funding.block });
    } else if (change.kind === 'removed') {
      const order = open.get(change.orderHash);
      open.delete(change.orderHash);
      if (order === undefined) continue;
      if (![...open.values()].some(({ order: { maker } }) => maker === order.order.maker))
        known.delete(order.order.maker);
    }
  }
  return new Map([...known].map(([maker, { amount }]) => [maker, amount]));
}
