import type { BookClock } from '@makerbook/contracts-events';
import { chooseOrders } from './choose-orders.js';
import { type Executable, min, type Pair, type RankedOrders, type When } from './rank-orders.js';

/** All that can be filled at one price. */
export interface Level {
  /** tokenIn per tokenOut, in lowest terms. */
  readonly price: { readonly numerator: bigint; readonly denominator: bigint };
  /** What filling all of its orders costs, each rounded up. */
  readonly amountIn: bigint;
  readonly amountOut: bigint;
  readonly orders: number;
  readonly gas: number;
}

/** An order to fill: `makingAmount` of tokenOut for `takingAmount` of tokenIn, as the contract rounds. */
export interface Fill extends Executable {
  readonly takingAmount: bigint;
  /** What can be filled of the order: at least `makingAmount`. */
  readonly executable: bigint;
}

/** What the taker pays of tokenIn at most, or wants of tokenOut, in the tokens' smallest units. */
export type Asked = { readonly amountIn: bigint } | { readonly amountOut: bigint };

export interface Quote {
  readonly pair: Pair;
  readonly asked: Asked;
  readonly fills: readonly Fill[];
  /** The next best orders, to be tried if a fill fails. What they and the fills take of a maker is within its funds. */
  readonly spares: readonly Fill[];
  /** What all fills cost. Less than was asked if the orders end, or if less buys nothing. */
  readonly amountIn: bigint;
  /** What all fills give. Less than was asked if the orders end. */
  readonly amountOut: bigint;
  /** Of the fills. */
  readonly gas: number;
  /** Better orders that are not filled because they bring too little: see `QuoteOptions`. */
  readonly passedOver: number;
  /** The block for which the quote holds: the lowest of the partitions of its orders. Undefined without fills. */
  readonly block: BookClock['block'] | undefined;
}

export interface Costs {
  /** Of one fill; `GAS_PER_ORDER` unless given. */
  readonly gasPerOrder?: number;
}

export interface QuoteOptions extends When, Costs {
  /** A share in percent of the amount that the spare orders are to cover; 0 unless given. */
  readonly backups?: number | undefined;
  /** Orders of the quote, spare ones too; 200 unless given. Beyond, those that give least are passed over. */
  readonly ordersMax?: number;
  /**
   * What a million gas costs, in the smallest unit of tokenOut: orders that give less than their gas are passed over,
   * and what is left of `amountIn` is not spent on a fill that does.
   * Unless it is given, orders are that give less than a thousandth of the quote, as long as the others are enough.
   */
  readonly amountOutPerMillionGas?: bigint | undefined;
}

/** An order that gives less than this part of the quote is dust. */
const DUST_PART = 1_000n;
const ORDERS_MAX = 200;

/** Gas of a fill in the middle of others, of tokens like OpenZeppelin's. */
export const GAS_PER_ORDER = 72_000;

/** The levels of the pair, the best first, one by one: take as many as you need, before the next change. */
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

/** Where orders of a fair size are not enough, none is too small. */
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

/** @param isNet whether a part of an order can be dust, too */
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

/** The most of the order that what is left of the amount in buys, or that is still wanted. */
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

/** As the contract: rounded up, each fill by itself. */
function takingOf({ entry, makingAmount }: Executable): bigint {
  const making = BigInt(entry.order.making.amount);
  return (makingAmount * BigInt(entry.order.taking.amount) + making - 1n) / making;
}

/** What is paid for what is got, in lowest terms. */
export function priceOf(paid: bigint, got: bigint): Level['price'] {
  const divisor = greatestDivisor(paid, got);
  return { numerator: paid / divisor, denominator: got / divisor };
}

function greatestDivisor(one: bigint, other: bigint): bigint {
  return other === 0n ? one : greatestDivisor(other, one % other);
}
