import fc from 'fast-check';
import { netAmountOut } from '../encode-fill.js';
import { type Asked, ladder, type QuoteOptions, quote } from '../quote-orders.js';
import { addressOf, type Given, openRouterBook, pair } from './router-book.js';

interface Case extends Pick<QuoteOptions, 'backups' | 'ordersMax' | 'amountOutPerMillionGas'> {
  readonly title: string;
  readonly orders: readonly Given[];
  readonly asked: Asked;
  readonly nowSeconds?: number;
}

const shared = { funds: 12, maker: 'd' };
const cases: readonly Case[] = [
  {
    title: 'rounds each fill up',
    orders: [
      { making: 3, taking: 10 },
      { making: 7, taking: 23, remaining: 2 },
    ],
    asked: { amountOut: 4n },
  },
  { title: 'pays no more than what it gets costs', orders: [{ making: 10, taking: 35 }], asked: { amountIn: 6n } },
  {
    title: 'tells apart prices that no float does',
    orders: [
      { making: 10n ** 30n, taking: 10n ** 30n + 1n, funds: 10n ** 40n },
      { making: 10n ** 30n, taking: 10n ** 30n, funds: 10n ** 40n },
    ],
    asked: { amountOut: 10n ** 30n + 1n },
  },
  {
    title: 'gives the funds of a maker to its best order first, by the newest reading',
    orders: [
      { ...shared, making: 10, taking: 20, funds: 99, block: 1 },
      { ...shared, making: 10, taking: 10, block: 3 },
      { making: 10, taking: 30 },
    ],
    asked: { amountOut: 15n },
    backups: 30,
  },
  {
    title: 'knows the funds by an order that cannot be filled',
    orders: [
      { ...shared, making: 10, taking: 20, funds: 99, block: 1 },
      { ...shared, making: 50, taking: 10, funds: 5, block: 3, status: 'INACTIVE' },
    ],
    asked: { amountIn: 99n },
  },
  {
    title: 'takes the lower of balance and allowance',
    orders: [{ making: 10, taking: 20, funds: 9, allowance: 4 }],
    asked: { amountIn: 99n },
  },
  {
    title: 'prefers the older order of a price, then the lower hash',
    orders: [
      { making: 10, taking: 20, acceptedAtMs: 2 },
      { making: 20, taking: 40, acceptedAtMs: 1 },
      { making: 5, taking: 10, acceptedAtMs: 1 },
    ],
    asked: { amountOut: 22n },
    backups: 10,
  },
  {
    title: 'passes over what is not to be routed',
    orders: [
      { making: 10, taking: 10, status: 'VALIDATING' },
      { making: 10, taking: 11, routableUntil: 1_000 },
      { making: 10, taking: 12, permittedTaker: addressOf('f') },
      { making: 10, taking: 13, tokens: { tokenIn: pair.tokenOut, tokenOut: pair.tokenIn } },
      { making: 10, taking: 14 },
    ],
    asked: { amountOut: 10n },
  },
  {
    title: 'uses no partition with an old clock',
    orders: [{ making: 10, taking: 10 }],
    asked: { amountOut: 10n },
    nowSeconds: 1_006,
  },
  { title: 'has less than was asked', orders: [{ making: 10, taking: 10 }], asked: { amountIn: 99n }, backups: 30 },
  {
    title: 'passes over orders that give less than a thousandth of the quote, spare ones too',
    orders: [
      { making: 9, taking: 9 },
      { making: 10, taking: 10 },
      { making: 99_990, taking: 199_980 },
      { making: 9, taking: 27 },
      { making: 10, taking: 30 },
      { making: 10, taking: 40 },
    ],
    asked: { amountOut: 10_000n },
    backups: 100,
  },
  {
    title: 'fills the smallest order where the others are not enough',
    orders: [
      { making: 9, taking: 9 },
      { making: 99_990, taking: 199_980 },
    ],
    asked: { amountOut: 99_999n },
  },
  {
    title: 'judges an order by what it gives, however little it costs',
    orders: [
      { making: 5_000, taking: 1 },
      { making: 5_000, taking: 10_000 },
    ],
    asked: { amountIn: 5_001n },
  },
  {
    title: 'passes over orders that give less than their gas, and over no others, where its price is known',
    orders: [
      { making: 8, taking: 8 },
      { making: 9, taking: 9 },
      { making: 99_990, taking: 199_980 },
    ],
    asked: { amountOut: 99_999n },
    amountOutPerMillionGas: 100n,
  },
  {
    title: 'leaves what is not worth the gas of a fill, where its price is known',
    orders: [
      { making: 100, taking: 100 },
      { making: 50, taking: 100 },
    ],
    asked: { amountIn: 117n },
    amountOutPerMillionGas: 100n,
    backups: 10,
  },
  {
    title: 'fills the orders that give most where there are too many',
    orders: [
      { making: 10, taking: 10 },
      { making: 11, taking: 22 },
      { making: 10, taking: 30 },
      { making: 40, taking: 160 },
      { making: 10, taking: 90 },
    ],
    asked: { amountOut: 51n },
    ordersMax: 2,
    backups: 30,
  },
];

const amount = fc.bigInt({ min: 1n, max: 10n ** 22n });
const anyOrder = fc.record({
  making: amount,
  taking: amount,
  maker: fc.constantFrom('c', 'd', 'e'),
  funds: amount,
  block: fc.integer({ min: 1, max: 9 }),
  acceptedAtMs: fc.integer({ min: 0, max: 3 }),
});
const anyCase = fc.record({
  orders: fc.array(anyOrder, { minLength: 4, maxLength: 8 }),
  asked: fc.oneof(fc.record({ amountIn: amount }), fc.record({ amountOut: amount })),
  backups: fc.constantFrom(0, 30, 100),
});

/** Books, the requests to them, and the right ladder and quote. Amounts are in decimal. */
export function makeVectors() {
  const random = fc.sample(anyCase, { numRuns: 10, seed: 1 });
  return [...cases, ...random.map((each, index) => ({ title: `random ${index}`, ...each }))].map(makeVector);
}

function makeVector({ title, orders, asked, nowSeconds = 1_000, ...given }: Case) {
  const limits = { backups: 0, ordersMax: 200, amountOutPerMillionGas: null, ...given };
  const book = openRouterBook();
  for (const [index, given] of orders.entries()) book.put(String(index + 1).padStart(2, '0'), given);
  const when = { nowSeconds, staleSecondsMax: 5, gasPerOrder: 90_000 };
  const quoted = quote(book.orders, pair, asked, { ...when, ...given });
  const { fills, spares, amountIn, amountOut, gas, passedOver, block } = quoted;
  const vector = {
    title,
    clocks: [...book.clocks.values()],
    entries: [...book.entries.values()],
    request: { pair, asked, ...limits, ...when },
    ladder: [...ladder(book.orders, pair, when)],
    quote: {
      fills: fills.map(({ entry, makingAmount, takingAmount }) => ({
        orderHash: entry.orderHash,
        makingAmount,
        takingAmount,
      })),
      spares: spares.map(({ entry, makingAmount }) => ({ orderHash: entry.orderHash, makingAmount })),
      amountIn,
      amountOut,
      gas,
      passedOver,
      netAmountOut: netAmountOut(quoted, given.amountOutPerMillionGas ?? 0n),
      block: block?.number ?? null,
    },
  };
  return JSON.parse(JSON.stringify(vector, (_, value) => (typeof value === 'bigint' ? String(value) : value)));
}
