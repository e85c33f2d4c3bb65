import { type Level, ladder, type Pair } from '@makerbook/book/browser';
import type { BookEntry } from '@makerbook/contracts-events';
import type { FoldedBook, When } from './fold-records.js';
import { inUnits, type Tokens } from './tell-amounts.js';

type Address = Pair['tokenIn'];

/** Two tokens that are traded for each other. Prices are in `quote` for one `base`. */
export interface Market {
  readonly key: string;
  readonly base: Address;
  readonly quote: Address;
  readonly orders: number;
  /** Of them, those of a partition with an old clock. */
  readonly stale: number;
  readonly makers: number;
  /** The best that somebody pays for base, and the best that somebody sells it for. */
  readonly bid: number | undefined;
  readonly ask: number | undefined;
}

/** What can be bought or sold up to a price, in base. */
export interface Point {
  readonly price: number;
  readonly amount: number;
}

export interface Depth {
  readonly bids: readonly Point[];
  readonly asks: readonly Point[];
}

const LEVELS_MAX = 200;
/** The chart shows so much around the median of the prices: some orders are far from any market. */
const CHART_SHARE = 0.1;

/** Which of two tokens is priced in the other: in the one with fewer decimals, as dollars have. */
export function marketOf(one: Address, other: Address, tokens: Tokens): Pick<Market, 'key' | 'base' | 'quote'> {
  const rank = (address: Address) => `${String(tokens.of(address).decimals).padStart(3, '0')}${address}`;
  const [quote, base] = rank(one) < rank(other) ? [one, other] : [other, one];
  return { key: `${base}-${quote}`, base, quote };
}

/** Every market with an ACTIVE order, those with the most orders first. */
export function listMarkets(book: FoldedBook, tokens: Tokens, when: When): Market[] {
  const counts = new Map<string, { orders: number; stale: number; makers: Set<string>; entry: BookEntry }>();
  for (const entry of book.entries.values()) {
    if (entry.status !== 'ACTIVE') continue;
    const { making, taking, maker } = entry.order;
    const { key } = marketOf(making.token, taking.token, tokens);
    const count = counts.get(key) ?? { orders: 0, stale: 0, makers: new Set(), entry };
    counts.set(key, count);
    count.orders += 1;
    count.stale += Number(book.isStale(entry, when));
    count.makers.add(maker);
  }
  const markets = [...counts.values()].map(({ entry: { order }, orders, stale, makers }) => {
    const market = marketOf(order.making.token, order.taking.token, tokens);
    const { bids, asks } = depthOf(book, market, tokens, when, 1);
    return { ...market, orders, stale, makers: makers.size, bid: bids[0]?.price, ask: asks[0]?.price };
  });
  return markets.sort((a, b) => b.orders - a.orders || (a.key < b.key ? -1 : 1));
}

/** What can be filled of the market, from the best price on, each amount with those before it. */
export function depthOf(
  book: FoldedBook,
  { base, quote }: Pick<Market, 'base' | 'quote'>,
  tokens: Tokens,
  when: When,
  levelsMax = LEVELS_MAX,
): Depth {
  const [inBase, inQuote] = [tokens.of(base).decimals, tokens.of(quote).decimals];
  const side = (pair: Pair, sides: (level: Level) => readonly [base: bigint, quote: bigint]) => {
    const points: Point[] = [];
    let amount = 0;
    for (const level of ladder(book.orders, pair, when)) {
      const [bought, paid] = sides(level);
      amount += inUnits(bought, inBase);
      points.push({ price: priceOf(bought, paid, inBase, inQuote), amount });
      if (points.length === levelsMax) break;
    }
    return points;
  };
  return {
    asks: side({ tokenIn: quote, tokenOut: base }, ({ amountIn, amountOut }) => [amountOut, amountIn]),
    bids: side({ tokenIn: base, tokenOut: quote }, ({ amountIn, amountOut }) => [amountIn, amountOut]),
  };
}

const priceOf = (base: bigint, quote: bigint, inBase: number, inQuote: number) =>
  inUnits(quote, inQuote) / inUnits(base, inBase);

/** An order as an item of its market. */
export interface Offer {
  readonly entry: BookEntry;
  readonly isAsk: boolean;
  readonly price: number;
  /** The share that is left of it. */
  readonly share: number;
}

export function describeOffer(entry: BookEntry, tokens: Tokens): Offer {
  const { making, taking } = entry.order;
  const { base, quote } = marketOf(making.token, taking.token, tokens);
  const isAsk = making.token === base;
  const [sold, paid] = [BigInt(making.amount), BigInt(taking.amount)];
  const price = priceOf(isAsk ? sold : paid, isAsk ? paid : sold, tokens.of(base).decimals, tokens.of(quote).decimals);
  return { entry, isAsk, price, share: Number(BigInt(entry.remainingMakingAmount)) / Number(sold) };
}

/** The orders of a market, those to sell first, each side with its best price first. */
export function listOffers(book: FoldedBook, key: string, tokens: Tokens): Offer[] {
  const offers: Offer[] = [];
  for (const entry of book.entries.values()) {
    const { making, taking } = entry.order;
    if (marketOf(making.token, taking.token, tokens).key === key) offers.push(describeOffer(entry, tokens));
  }
  return offers.sort(
    (a, b) =>
      Number(b.isAsk) - Number(a.isAsk) ||
      (a.isAsk ? a.price - b.price : b.price - a.price) ||
      (a.entry.orderHash < b.entry.orderHash ? -1 : 1),
  );
}

/** Series for a chart over rising prices: bids and asks with those of stale partitions, then those that can be filled. */
export function seriesOf(fresh: Depth, all: Depth): [number[], ...(number | null)[][]] {
  const levels = [...all.bids, ...all.asks].map(({ price }) => price).sort((a, b) => a - b);
  const median = levels[Math.floor(levels.length / 2)] ?? 0;
  const sides = [all.bids, all.asks, fresh.bids, fresh.asks].map((points) =>
    points.filter(({ price }) => Math.abs(price / median - 1) <= CHART_SHARE),
  );
  const prices = [...new Set(sides.flat().map(({ price }) => price))].sort((a, b) => a - b);
  const [low = 0, high = 0] = [prices[0], prices.at(-1)];
  const edge = (high - low || high * 0.02) * 0.08;
  const xs = prices.length === 0 ? [] : [low - edge, ...prices, high + edge];
  const series = sides.map((points, n) => {
    const isBid = n % 2 === 0;
    const amounts = new Map(points.map(({ price, amount }) => [price, amount]));
    const last = points.at(-1);
    if (last !== undefined) amounts.set(isBid ? low - edge : high + edge, last.amount);
    return xs.map((x) => amounts.get(x) ?? null);
  });
  return [xs, ...series];
}
