import type { BookClock } from '@makerbook/contracts-events';
import { chooseOrders } from './choose-orders.js';
import { type Executable, min, type Pair, type RankedOrders, type When } from './rank-orders.js';

/** Everything that can be filled at one price. */
export interface Level {
  /** tokenIn per tokenOut, in lowest terms. */
  readonly price: { readonly numerator: bigint; readonly denominator: bigint };
  /** The cost of filling all orders of the level, each rounded up. */
  readonly amountIn: bigint;
  readonly amountOut: bigint;
  readonly orders: number;
  readonly gas: number;
}

/** An order to fill: `makingAmount` of tokenOut for `takingAmount` of tokenIn, rounded as by the contract. */
export interface Fill extends Executable {
  readonly takingAmount: bigint;
  /** The amount of the order that can be filled: at least `makingAmount`. */
  readonly executable: bigint;
}

/** The most that the taker pays of tokenIn, or the amount it wants of tokenOut, in the tokens' smallest units. */
export type Asked = { readonly amountIn: bigint } | { readonly amountOut: bigint };

export interface Quote {
  readonly pair: Pair;
  readonly asked: Asked;
  readonly fills: readonly Fill[];
  /** The next best orders, to try if a fill fails. Together with the fills they stay within each maker's funds. */
  readonly spares: readonly Fill[];
  /** The cost of all fills. Less than was asked if the orders end, or if less buys nothing. */
  readonly amountIn: bigint;
  /** The amount that all fills give. Less than was asked if the orders end. */
  readonly amountOut: bigint;
  /** The gas of all fills. */
  readonly gas: number;
  /** Better orders that are not filled because they bring too little: see `QuoteOptions`. */
  readonly passedOver: number;
  /** The block for which the quote holds: the lowest of the partitions of its orders. Undefined without fills. */
  readonly block: BookClock['block'] | undefined;
}

export interface Costs {
  /** The gas of one fill. Defaults to `GAS_PER_ORDER`. */
  readonly gasPerOrder?: number;
}

export interface QuoteOptions extends When, Costs {
  /** How much of the amount the spare orders must cover, in percent. Defaults to 0. */
  readonly backups?: number | undefined;
  /**
   * The most orders of the quote, with spare ones. Defaults to 200. Beyond that, those that give least are passed over.
   */
  readonly ordersMax?: number;
  /**
   * The cost of a million gas, in the smallest unit of tokenOut. Orders that give less than their gas are passed over.
   * The rest of `amountIn` is not spent on a fill that gives less than its gas.
   * If left out, orders that give less than a thousandth of the quote are passed over, as long as the others are
   * enough.
   */
  readonly amountOutPerMillionGas?: bigint | undefined;
}

/** An order that gives less than this part of the quote is dust. */
const DUST_PART = 1_000n;
const ORDERS_MAX = 200;

/** Gas of a fill among others, for tokens like OpenZeppelin's. */
export const GAS_PER_ORDER = 72_000;

/** Yields the levels of the pair, the best first. Take as many as you need, before the next change. */
export function* ladder(orders: RankedOrders, pair: Pair, options: When & Costs): Generator<Level, void, void> {
  const { gasPerOrder = GAS_PER_ORDER } = options;
  let level: { -readonly [Name in keyof Level]: Level[Name] } | undefined;
  for (const offer of orders.executable(pair, options)) {
    const { making, taking } = offer.entry.order;
    const [paid, got] = [BigInt(taking.amount), BigInt(making.amount)];
    if (level === undefined || paid * level.price.denominator !== level.price.numerator * got) {
      if (level !== undefined) yield level;
      level = { price: priceOf(paid, got), amountIn: 0n, amountOut: 0n, orders: 0, gas: 0 };
    }
    level.amountIn += takingOf(offer);
    level.amountOut += offer.makingAmount;
    level.orders += 1;
    level.gas += gasPerOrder;
  }
  if (level !== undefined) yield level;
}

/** Fills the amount from the best price on, without orders that give too little. */
export function quote(
  orders: Pick<RankedOrders, 'executable' | 'blockOf'>,
  pair: Pair,
  asked: Asked,
  options: QuoteOptions,
): Quote {
  const { backups = 0, gasPerOrder = GAS_PER_ORDER, ordersMax = ORDERS_MAX } = options;
  const isNet = options.amountOutPerMillionGas !== undefined;
  const fillWithout = (isDust: IsDust) => fillOrders(orders.executable(pair, options), asked, isDust, ordersMax, isNet);
  const { fills, unfilled, rest, isDust, amountIn, amountOut, passedOver } = fillWithoutDust(fillWithout, options);
  const { orders: next } = chooseOrders(andThen(unfilled, rest), {
    wanted: (amountOut * BigInt(backups) + 99n) / 100n,
    amountOf: ({ makingAmount }) => makingAmount,
    isDust,
    countMax: ordersMax - fills.length,
  });
  const spares = next.map((each) => fillOf(each, each.makingAmount));
  const block = orders.blockOf([...fills, ...spares]);
  return { pair, asked, fills, spares, amountIn, amountOut, gas: fills.length * gasPerOrder, passedOver, block };
}

type IsDust = (order: Executable) => boolean;
type Filled = ReturnType<typeof fillOrders>;

/** Treats no order as too small if the larger ones are not enough. */
function fillWithoutDust(fillWithout: (isDust: IsDust) => Filled, options: QuoteOptions): Filled {
  const { gasPerOrder = GAS_PER_ORDER, amountOutPerMillionGas: gasPrice } = options;
  if (gasPrice !== undefined)
    return fillWithout(({ makingAmount }) => makingAmount * 1_000_000n < BigInt(gasPerOrder) * gasPrice);
  const whole = fillWithout(() => false);
  if (!whole.isEnough) return whole;
  const isDust: IsDust = ({ makingAmount }) => makingAmount * DUST_PART < whole.amountOut;
  const fair = whole.chosen.some(isDust) ? fillWithout(isDust) : { ...whole, isDust };
  return fair.isEnough ? fair : whole;
}

/** @param isNet true if a part of an order can be dust, too */
function fillOrders(
  offers: Generator<Executable, void, void>,
  asked: Asked,
  isDust: IsDust,
  countMax: number,
  isNet: boolean,
) {
  const [wanted, amountOf] =
    'amountIn' in asked ? [asked.amountIn, takingOf] : [asked.amountOut, (order: Executable) => order.makingAmount];
  const { orders: chosen, ...choice } = chooseOrders(offers, { wanted, amountOf, isDust, countMax });
  const [fills, unfilled]: [Fill[], Executable[]] = [[], []];
  let [amountIn, amountOut] = [0n, 0n];
  for (const each of chosen) {
    const makingAmount = amountWithin(each, asked, amountIn, amountOut);
    if (makingAmount === 0n || (isNet && 'amountIn' in asked && isDust({ ...each, makingAmount }))) {
      unfilled.push(each);
      continue;
    }
    const fill = fillOf(each, makingAmount);
    fills.push(fill);
    amountIn += fill.takingAmount;
    amountOut += makingAmount;
  }
  return { ...choice, chosen, fills, unfilled, rest: offers, isDust, amountIn, amountOut };
}

function* andThen(first: Iterable<Executable>, rest: Iterable<Executable>): Generator<Executable, void, void> {
  yield* first;
  yield* rest;
}

/** The most of the order that the rest of amountIn buys, or that is still wanted. */
function amountWithin(order: Executable, asked: Asked, paid: bigint, got: bigint): bigint {
  if ('amountOut' in asked) return min(asked.amountOut - got, order.makingAmount);
  const left = asked.amountIn - paid;
  if (takingOf(order) <= left) return order.makingAmount;
  const { making, taking } = order.entry.order;
  return (left * BigInt(making.amount)) / BigInt(taking.amount);
}

function fillOf({ entry, makingAmount: executable }: Executable, makingAmount: bigint): Fill {
  return { entry, makingAmount, takingAmount: takingOf({ entry, makingAmount }), executable };
}

/** Rounds up each fill by itself, as the contract does. */
function takingOf({ entry, makingAmount }: Executable): bigint {
  const making = BigInt(entry.order.making.amount);
  return (makingAmount * BigInt(entry.order.taking.amount) + making - 1n) / making;
}

/** The price paid per unit got, in lowest terms. */
export function priceOf(paid: bigint, got: bigint): Level['price'] {
  const divisor = greatestDivisor(paid, got);
  return { numerator: paid / divisor, denominator: got / divisor };
}

function greatestDivisor(one: bigint, other: bigint): bigint {
  return other === 0n ? one : greatestDivisor(other, one % other);
}
