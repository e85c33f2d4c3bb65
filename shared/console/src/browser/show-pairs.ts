import type { BookEntry } from '@makerbook/contracts-events';
import { html } from 'lit-html';
import { openDepthChart } from './draw-depth.js';
import { depthOf, describeOffer, listMarkets, listOffers, type Market, seriesOf } from './list-markets.js';
import { linkTo, type Row, table } from './show-rows.js';
import type { Page, View } from './state.js';
import { tellPrice } from './tell-amounts.js';

const OFFERS_MAX = 100;

/** The view of all pairs and of a chosen one; `chosen`: the key of a market. */
export function openPairs(page: Page): View {
  const { book, tokens } = page;
  const chart = openDepthChart();
  return (chosen) => {
    const when = page.when();
    const markets = listMarkets(book, tokens, when);
    const market = markets.find(({ key }) => key === chosen) ?? markets[0];
    if (market === undefined) return html`<h1>Pairs</h1><p>No ACTIVE order is in the book.</p>`;
    const rows = markets.map((each) => rowOf(page, each, each === market));
    const depth = depthOf(book, market, tokens, when);
    chart.show(seriesOf(depth));
    const words = describeDepth(tokens.of(market.base).symbol, depth);
    const offers = listOffers(book, market.key, tokens);
    const shown = offers.slice(0, OFFERS_MAX).map((entry) => rowOfOffer(page, entry));
    const columns = ['Side', 'Pair', 'Price', 'Left', 'Status', 'Maker', 'Order'];
    return html`
      <h1>Pairs</h1>
      ${table('Pairs', ['Pair', 'Best buy', 'Best sell', 'Orders', 'Makers', 'Clocks'], rows, 'numbers')}
      <h2>${nameOf(page, market)}, priced in ${tokens.of(market.quote).symbol}</h2>
      <div role="img" aria-label=${words}>${chart.element}</div>
      <p class="hint"><span class="buy">▬ makers buy</span> <span class="sell">▬ makers sell</span>,
        10 % around the median price. <span id="depth-words">${words}</span></p>
      ${table('Orders of the pair', columns, shown)}
      ${offers.length > OFFERS_MAX ? html`<p class="hint">${offers.length - OFFERS_MAX} more are not shown.</p>` : ''}`;
  };
}

export const nameOf = ({ tokens }: Page, { base, quote }: Pick<Market, 'base' | 'quote'>) =>
  `${tokens.of(base).symbol}/${tokens.of(quote).symbol}`;

function rowOf(page: Page, market: Market, isChosen: boolean): Row {
  const { key, bid, ask, orders, stale, makers } = market;
  const name = html`<a href="#pairs/${key}">${isChosen ? '▸ ' : ''}${nameOf(page, market)}</a>`;
  const fresh = stale === 0 ? 'all fresh' : `${stale} stale`;
  const cells = [name, tellPrice(bid), tellPrice(ask), String(orders), String(makers), fresh];
  return { key, className: stale === orders ? 'stale' : '', cells };
}

function describeDepth(symbol: string, { bids, asks }: ReturnType<typeof depthOf>): string {
  const side = (points: typeof bids, does: string) => {
    const amount = points.at(-1)?.amount.toLocaleString('en', { maximumSignificantDigits: 6 });
    return amount === undefined ? `nobody ${does}s now` : `makers ${does} ${amount} ${symbol}`;
  };
  return `Depth: ${side(bids, 'buy')}, ${side(asks, 'sell')}. Amounts are executable: within the funds of the makers, and without stale partitions.`;
}

export const statusOf = ({ status, reason }: { readonly status: string; readonly reason?: string | undefined }) =>
  reason === undefined ? status : `${status}: ${reason}`;

/** An order in a list. */
export function rowOfOffer(page: Page, entry: BookEntry): Row {
  const { order, orderHash, remainingMakingAmount } = entry;
  const { market, isAsk, price, share } = describeOffer(entry, page.tokens);
  const isStale = page.book.isStale(entry, page.when());
  const left = page.tokens.tell(remainingMakingAmount, order.making.token);
  return {
    key: orderHash,
    className: `${isStale ? 'stale' : ''} ${isAsk ? 'sell' : 'buy'}`,
    cells: [
      isAsk ? 'Sell' : 'Buy',
      nameOf(page, market),
      tellPrice(price),
      html`<meter max="1" value=${share} aria-label="${left} left"></meter> ${left}`,
      isStale ? `${statusOf(entry)}, stale` : statusOf(entry),
      linkTo('maker', order.maker),
      linkTo('order', orderHash),
    ],
  };
}
