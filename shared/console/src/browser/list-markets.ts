import { type Level, ladder, type Pair, type When } from '@makerbook/book/browser';
import type { BookEntry } from '@makerbook/contracts-events';
import type { FoldedBook } from './fold-records.js';
import { inUnits, type Tokens } from './tell-amounts.js';

type Address = Pair['tokenIn'];

/** Two tokens that are traded for each other. Prices are in `quote` for one `base`. */
interface Sides {
  readonly base: Address;
  readonly quote: Address;
}
export type Market = ReturnType<typeof listMarkets>[number];

/** What can be bought or sold up to each price, in base. */
type Points = { readonly price: number; readonly amount: number }[];
type Depth = Readonly<Record<'bids' | 'asks', Points>>;

const LEVELS_MAX = 200;

/** Which of two tokens is priced in the other: in the one with fewer decimals, as dollars have. */
function marketOf({ making, taking }: BookEntry['order'], tokens: Tokens): Sides & { readonly key: string } {
  const rank = (address: Address) => `${String(tokens.of(address).decimals).padStart(3, '0')}${address}`;
  const [one, other] = [making.token, taking.token];
  const [quote, base] = rank(one) < rank(other) ? [one, other] : [other, one];
  return { key: `${base}-${quote}`, base, quote };
}

/** Every market with an ACTIVE order, those with the most orders first. */
export function listMarkets(book: FoldedBook, tokens: Tokens, when: When) {
  const active = [...book.entries.values()].filter(({ status }) => status === 'ACTIVE');
  const markets = [...Map.groupBy(active, ({ order }) => marketOf(order, tokens).key)].map(([key, entries]) => {
    const [base, quote] = key.split('-') as [Address, Address];
    const { bids, asks } = depthOf(book, { base, quote }, tokens, when, 1);
    const stale = entries.filter((entry) => book.isStale(entry, when)).length;
    const makers = new Set(entries.map(({ order }) => order.maker)).size;
    return { key, base, quote, orders: entries.length, stale, makers, bid: bids[0]?.price, ask: asks[0]?.price };
  });
  return markets.sort((a, b) => b.orders - a.orders || (a.key < b.key ? -1 : 1));
}

/** What can be filled of the market, from the best price on, each amount with those before it. */
export function depthOf(
  book: FoldedBook,
  { base, quote }: Sides,
  tokens: Tokens,
  when: When,
  levelsMax = LEVELS_MAX,
): Depth {
  const side = (pair: Pair, sides: (level: Level) => readonly [base: bigint, quote: bigint]) => {
    const points: Points = [];
    let amount = 0;
    for (const level of ladder(book.orders, pair, when)) {
      const [bought, paid] = sides(level);
      amount += inUnits(bought, tokens.of(base).decimals);
      points.push({ price: priceOf(bought, paid, { base, quote }, tokens), amount });
      if (points.length === levelsMax) break;
    }
    return points;
  };
  return {
    asks: side({ tokenIn: quote, tokenOut: base }, ({ amountIn, amountOut }) => [amountOut, amountIn]),
    bids: side({ tokenIn: base, tokenOut: quote }, ({ amountIn, amountOut }) => [amountIn, amountOut]),
  };
}

const priceOf = (bought: bigint, paid: bigint, { base, quote }: Sides, tokens: Tokens) =>
  inUnits(paid, tokens.of(quote).decimals) / inUnits(bought, tokens.of(base).decimals);

/** An order as an item of its market, and the share that is left of it. */
export function describeOffer(entry: Pick<BookEntry, 'order' | 'remainingMakingAmount'>, tokens: Tokens) {
  const { making, taking } = entry.order;
  const market = marketOf(entry.order, tokens);
  const isAsk = making.token === market.base;
  const [sold, paid] = [BigInt(making.amount), BigInt(taking.amount)];
  const price = isAsk ? priceOf(sold, paid, market, tokens) : priceOf(paid, sold, market, tokens);
  return { market, isAsk, price, share: Number(BigInt(entry.remainingMakingAmount)) / Number(sold) };
}

/** The orders of a market, those to sell first, each side with its best price first. */
export function listOffers(book: FoldedBook, key: string, tokens: Tokens): BookEntry[] {
  const offers = [...book.entries.values()].flatMap((entry) => {
    const { market, isAsk, price } = describeOffer(entry, tokens);
    return market.key === key ? [{ entry, rank: (isAsk ? 1 : -1) / price }] : [];
  });
  offers.sort((a, b) => b.rank - a.rank);
  return offers.map(({ entry }) => entry);
}

/** Series for a chart over rising prices: bids, then asks. */
export function seriesOf({ bids, asks }: Depth): [number[], ...(number | null)[][]] {
  const prices = [...bids, ...asks].map(({ price }) => price).sort((a, b) => a - b);
  const amounts = [bids, asks].map((points) => new Map(points.map(({ price, amount }) => [price, amount])));
  return [prices, ...amounts.map((amountAt) => prices.map((price) => amountAt.get(price) ?? null))];
}
