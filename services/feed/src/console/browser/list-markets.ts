import { type Level, ladder, type Pair } from '@makerbook/book/browser';
import type { BookEntry } from '@makerbook/contracts-events';
import type { Page } from './state.js';
import type { Tokens } from './tell-amounts.js';

type Address = Pair['tokenIn'];
type Shown = Pick<Page, 'book' | 'tokens' | 'when'>;
/** Two tokens that are traded for each other. Prices are in `quote` for one `base`. */
export type Market = Readonly<Record<'base' | 'quote', Address>>;
/** What can be bought or sold at a price (`size`), and up to this price (`amount`), in base. */
export type Point = { readonly price: number; readonly size: number; readonly amount: number };

const LEVELS_MAX = 200;

export const nameOf = ({ tokens }: Pick<Page, 'tokens'>, { base, quote }: Market) =>
  `${tokens.of(base).symbol}/${tokens.of(quote).symbol}`;

export const keyOf = ({ base, quote }: Market) => `${base}-${quote}`;

/** An order in its market. The token with fewer decimals prices the other. `share` is the part that is left. */
export function offerOf(
  entry: Pick<BookEntry, 'remainingMakingAmount'> & { readonly order: Pick<BookEntry['order'], 'making' | 'taking'> },
  tokens: Tokens,
) {
  const { making, taking } = entry.order;
  const rank = (address: Address) => `${String(tokens.of(address).decimals).padStart(3, '0')}${address}`;
  const isAsk = rank(making.token) > rank(taking.token);
  const [sold, paid] = isAsk ? [making, taking] : [taking, making];
  const market: Market = { base: sold.token, quote: paid.token };
  const price = priceOf(sold.amount, paid.amount, market, tokens);
  return { market, isAsk, price, share: Number(entry.remainingMakingAmount) / Number(making.amount) };
}

/** Every market with an ACTIVE order, those with the most orders first. */
export function listMarkets(page: Shown) {
  const { book, tokens, when } = page;
  const active = [...book.entries.values()].filter(({ status }) => status === 'ACTIVE');
  const markets = [...Map.groupBy(active, (entry) => keyOf(offerOf(entry, tokens).market))].map(([key, entries]) => {
    const [base, quote] = key.split('-') as [Address, Address];
    const market = { base, quote };
    const { bids, asks } = depthOf(page, market, 1);
    const stale = entries.filter((entry) => book.isStale(entry, when())).length;
    const makers = new Set(entries.map(({ order }) => order.maker)).size;
    return { key, ...market, orders: entries.length, stale, makers, bid: bids[0]?.price, ask: asks[0]?.price };
  });
  return markets.sort((a, b) => b.orders - a.orders || (a.key < b.key ? -1 : 1));
}

/** What can be filled in the market, from the best price on. Each amount includes those before it. */
export function depthOf({ book, tokens, when }: Shown, market: Market, levelsMax = LEVELS_MAX) {
  const side = (pair: Pair, sides: (level: Level) => readonly [base: bigint, quote: bigint]) => {
    const points: Point[] = [];
    let amount = 0;
    for (const level of ladder(book.orders, pair, when())) {
      if (points.length === levelsMax) break;
      const [bought, paid] = sides(level);
      const size = tokens.units(bought, market.base);
      amount += size;
      points.push({ price: priceOf(bought, paid, market, tokens), size, amount });
    }
    return points;
  };
  const { base, quote } = market;
  return {
    asks: side({ tokenIn: quote, tokenOut: base }, ({ amountIn, amountOut }) => [amountOut, amountIn]),
    bids: side({ tokenIn: base, tokenOut: quote }, ({ amountIn, amountOut }) => [amountIn, amountOut]),
  };
}

const priceOf = (bought: bigint | string, paid: bigint | string, { base, quote }: Market, tokens: Tokens) =>
  tokens.units(paid, quote) / tokens.units(bought, base);

/** The orders of a market, those to sell first, each side with its best price first. */
export function listOffers({ book, tokens }: Shown, key: string): BookEntry[] {
  const rankOf = ({ isAsk, price }: ReturnType<typeof offerOf>) => (isAsk ? 1 : -1) / price;
  const offers = [...book.entries.values()].map((entry) => ({ entry, ...offerOf(entry, tokens) }));
  const own = offers.filter(({ market }) => keyOf(market) === key).sort((a, b) => rankOf(b) - rankOf(a));
  return own.map(({ entry }) => entry);
}
