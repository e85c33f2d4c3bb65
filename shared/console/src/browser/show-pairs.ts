import type { BookEntry } from '@makerbook/contracts-events';
import { html } from 'lit-html';
import { openDepthChart } from './draw-depth.js';
import { depthOf, listMarkets, listOffers, type Market, offerOf, type Point } from './list-markets.js';
import type { Page } from './page.js';
import { linkTo, table } from './show-rows.js';
import type { View } from './state.js';
import { tellPrice } from './tell-amounts.js';

const OFFERS_MAX = 100;
const NEWEST_SHOWN = 10;
/** Levels of each side of the ladder. */
const LEVELS_SHOWN = 10;

/** The view of all pairs and of a chosen one, by the key of its market. */
export function openPairs(page: Page): View {
  const draw = openDepthChart();
  return (chosen) => showPairs(page, chosen, draw);
}

function showPairs(page: Page, chosen: string, draw: ReturnType<typeof openDepthChart>) {
  const markets = listMarkets(page);
  const market = markets.find(({ key }) => key === chosen) ?? markets[0];
  if (market === undefined) return html`<h1>Pairs</h1><p>No ACTIVE order is in the book.</p>`;
  const rows = markets.map(({ key, bid, ask, orders, stale, makers, ...each }) => {
    const name = html`<a href="#pairs/${key}">${key === market.key ? '▸ ' : ''}${nameOf(page, each)}</a>`;
    const fresh = stale === 0 ? 'all fresh' : `${stale} stale`;
    const cells = [name, tellPrice(bid), tellPrice(ask), String(orders), String(makers), fresh];
    return { key, className: stale === orders ? 'stale' : '', cells };
  });
  const { symbol } = page.tokens.of(market.base);
  const depth = depthOf(page, market);
  const [bought, sold] = [depth.bids, depth.asks].map((points) => `${tellPrice(points.at(-1)?.amount)} ${symbol}`);
  const words = `Makers buy ${bought}, and sell ${sold}, within their funds and without stale partitions`;
  const offers = listOffers(page, market.key);
  const newest = [...offers].sort((a, b) => b.acceptedAtMs - a.acceptedAtMs).slice(0, NEWEST_SHOWN);
  return html`
    <h1>Pairs</h1>
    ${table('Pairs', ['Pair', 'Best buy', 'Best sell', 'Orders', 'Makers', 'Clocks'], rows, 'numbers')}
    <h2>${nameOf(page, market)}, priced in ${page.tokens.of(market.quote).symbol}</h2>
    ${depth.bids.length + depth.asks.length === 0 ? tellEmpty(market) : showChart(draw(depth), words)}
    <p class="hint"><span id="depth-words">${words}.</span></p>
    ${showLadder(depth, symbol)}
    <h3>Newest orders</h3>
    ${tableOf(page, 'Newest orders', newest)}
    <h3>Orders by price</h3>
    ${tableOf(page, 'Orders of the pair', offers.slice(0, OFFERS_MAX))}
    ${offers.length > OFFERS_MAX ? html`<p class="hint">${offers.length - OFFERS_MAX} more are not shown.</p>` : ''}`;
}

function showChart(chart: HTMLElement, words: string) {
  return html`
    <div role="img" aria-label=${words}>${chart}</div>
    <p class="hint"><span class="buy">▬ makers buy</span> <span class="sell">▬ makers sell</span>,
      10 % around the median price</p>`;
}

/** Instead of a chart: there is nothing to draw axes by. */
function tellEmpty({ orders, stale }: { readonly orders: number; readonly stale: number }) {
  const why = stale === 0 ? 'the funds of the makers are used up' : `${stale} of ${orders} orders are stale`;
  return html`<p id="depth-empty" class="wrong">Nothing can be filled now: ${why}.</p>`;
}

/** Sells above the spread and buys below it, each with what can be had from the spread to there. */
function showLadder({ asks, bids }: ReturnType<typeof depthOf>, symbol: string) {
  const rowsOf = (side: 'sell' | 'buy', points: readonly Point[]) =>
    points.slice(0, LEVELS_SHOWN).map(({ price, size, amount }) => ({
      key: `${side} ${price}`,
      className: side,
      cells: [tellPrice(price), tellPrice(size), tellPrice(amount)],
    }));
  const [ask, bid] = [asks[0]?.price, bids[0]?.price];
  const isOneSided = ask === undefined || bid === undefined;
  const share = isOneSided ? '–' : `${(((ask - bid) * 200) / (ask + bid)).toFixed(2)} %`;
  const spread = {
    key: 'spread',
    className: 'spread',
    cells: [`Spread ${isOneSided ? '–' : tellPrice(ask - bid)}`, share, ''],
  };
  const rows = [...rowsOf('sell', asks).reverse(), spread, ...rowsOf('buy', bids)];
  return table('Ladder', ['Price', `Amount, ${symbol}`, `Sum, ${symbol}`], rows, 'numbers');
}

export const nameOf = ({ tokens }: Page, { base, quote }: Market) =>
  `${tokens.of(base).symbol}/${tokens.of(quote).symbol}`;

export const statusOf = ({ status, reason }: { readonly status: string; readonly reason?: string | undefined }) =>
  reason === undefined ? status : `${status}: ${reason}`;

/** A table of orders. */
export function tableOf(page: Page, name: string, entries: readonly BookEntry[]) {
  const rows = entries.map((entry) => {
    const { order, orderHash, remainingMakingAmount } = entry;
    const { market, isAsk, price, share } = offerOf(entry, page.tokens);
    const isStale = page.book.isStale(entry, page.when());
    const left = page.tokens.tell(remainingMakingAmount, order.making.token);
    const cells = [
      isAsk ? 'Sell' : 'Buy',
      nameOf(page, market),
      tellPrice(price),
      html`<meter max="1" value=${share} aria-label="${left} left"></meter> ${left}`,
      isStale ? `${statusOf(entry)}, stale` : statusOf(entry),
      linkTo('maker', order.maker),
      linkTo('order', orderHash),
    ];
    return { key: orderHash, className: `${isStale ? 'stale' : ''} ${isAsk ? 'sell' : 'buy'}`, cells };
  });
  return table(name, ['Side', 'Pair', 'Price', 'Left', 'Status', 'Maker', 'Order'], rows);
}
