import type { BookEntry } from '@makerbook/contracts-events';
import { html, type TemplateResult } from 'lit-html';
import { openDepthChart } from './draw-depth.js';
import { openPriceChart } from './draw-prices.js';
import { depthOf, listMarkets, listOffers, nameOf, offerOf, type Point } from './list-markets.js';
import { type Fills, keepAskingFills, offerOfFill, tableOfFills } from './show-fills.js';
import { linkTo, table } from './show-rows.js';
import type { Page, View } from './state.js';
import { alignTo, type Tokens, tellPrice } from './tell-amounts.js';

const ORDERS_SHOWN = 100;
/** How many of the newest orders and fills are shown. */
export const NEWEST_SHOWN = 10;
/** How many levels of each side of the ladder are shown. */
const LEVELS_SHOWN = 10;

type Token = ReturnType<Tokens['of']>;

/** The view of all pairs, and of the pair chosen by the key of its market. */
export function openPairs(page: Page): View {
  const parts = { draw: openDepthChart(), drawPrices: openPriceChart(), askFills: keepAskingFills(page, 2) };
  return (chosen) => showPairs(page, chosen, parts);
}

interface Parts {
  readonly draw: ReturnType<typeof openDepthChart>;
  readonly drawPrices: ReturnType<typeof openPriceChart>;
  readonly askFills: ReturnType<typeof keepAskingFills>;
}

function showPairs(page: Page, chosen: string, { draw, drawPrices, askFills }: Parts) {
  const markets = listMarkets(page);
  const market = markets.find(({ key }) => key === chosen) ?? markets[0];
  if (market === undefined) {
    const why = page.book.isLive ? 'No ACTIVE order is in the book.' : 'The book is not read yet.';
    return html`<h1>Pairs</h1><p>${why}</p>`;
  }
  const rows = markets.map(({ key, bid, ask, orders, stale, makers, ...each }) => {
    const name = html`<a href="#pairs/${key}">${key === market.key ? '▸ ' : ''}${nameOf(page, each)}</a>`;
    const fresh = stale === 0 ? 'all fresh' : `${stale} stale`;
    const cells = [name, tellPrice(bid), tellPrice(ask), String(orders), String(makers), fresh];
    return { key, className: stale === orders ? 'stale' : '', cells };
  });
  const [{ symbol }, priced] = [market.base, market.quote].map((token) => page.tokens.of(token)) as [Token, Token];
  const depth = depthOf(page, market);
  const [bought, sold] = [depth.bids, depth.asks].map((points) => `${tellPrice(points.at(-1)?.amount)} ${symbol}`);
  const words = `Makers buy ${bought}, and sell ${sold}, within their funds and without stale partitions`;
  const isEmpty = depth.bids.length + depth.asks.length === 0;
  const offers = listOffers(page, market.key);
  const [base, quote] = [market.base, market.quote];
  const fills = askFills({ making: base, taking: quote }, { making: quote, taking: base });
  return html`
    <h1>Pairs</h1>
    ${table('Pairs', ['Pair', 'Best buy', 'Best sell', 'Orders', 'Makers', 'Clocks'], rows, 'numbers')}
    <h2>${nameOf(page, market)}, priced in ${priced.symbol}</h2>
    ${isEmpty ? tellEmpty(market) : showDepth(draw(depth), words, showLadder(depth, symbol, priced.symbol))}
    <h3>Recent trades</h3>
    ${showPrices(page, fills, drawPrices)}
    ${tableOfFills(page, 'Recent trades', typeof fills === 'string' ? fills : fills.slice(0, NEWEST_SHOWN), { isOfPair: true })}
    <h3>Newest orders</h3>
    ${tableOf(page, 'Newest orders', newestOf(offers))}
    <h3>Orders by price</h3>
    ${tableOf(page, 'Orders of the pair', offers)}`;
}

export const newestOf = (entries: readonly BookEntry[]) =>
  [...entries].sort((a, b) => b.acceptedAtMs - a.acceptedAtMs).slice(0, NEWEST_SHOWN);

function showDepth(chart: HTMLElement, words: string, ladder: TemplateResult) {
  return html`
    <div class="columns">
      <div>
        <div role="img" aria-label=${words}>${chart}</div>
        <p class="hint"><span class="buy">▬ makers buy</span> <span class="sell">▬ makers sell</span>:
          the sum up to each price, 10 % around the median</p>
        <p class="hint"><span id="depth-words">${words}.</span></p>
      </div>
      ${ladder}
    </div>`;
}

function showPrices(page: Page, fills: Fills, draw: ReturnType<typeof openPriceChart>) {
  const trades = (typeof fills === 'string' ? [] : fills).flatMap((fill) => {
    const offer = offerOfFill(fill, page.tokens);
    const { blockTimestamp: seconds } = fill;
    return offer === undefined || seconds === undefined ? [] : [{ ...offer, seconds }];
  });
  // A line needs two points.
  if (trades.length < 2) return '';
  const paid = trades.map(({ price }) => price);
  const [least, most] = [Math.min(...paid), Math.max(...paid)].map(tellPrice);
  const words = `Prices of the newest ${trades.length} trades, from ${least} to ${most}`;
  return html`<div role="img" aria-label=${words}>${draw(trades)}</div><p class="hint">${words}.</p>`;
}

/** Takes the place of the chart, because there is nothing to draw axes by. */
function tellEmpty({ orders, stale }: { readonly orders: number; readonly stale: number }) {
  const why = stale === 0 ? 'the funds of the makers are used up' : `${stale} of ${orders} orders are stale`;
  return html`<p id="depth-empty" class="wrong">Nothing can be filled now: ${why}.</p>`;
}

/** Shows sells above the spread and buys below it, each with the sum from the spread up to its price. */
function showLadder({ asks, bids }: ReturnType<typeof depthOf>, base: string, quote: string) {
  const tellAmount = alignTo(
    Math.max(...[asks, bids].map((points) => points.slice(0, LEVELS_SHOWN).at(-1)?.amount ?? 0)),
  );
  const rowsOf = (side: 'sell' | 'buy', points: readonly Point[]) =>
    points.slice(0, LEVELS_SHOWN).map(({ price, size, amount }) => ({
      key: `${side} ${price}`,
      className: side,
      cells: [tellPrice(price), tellAmount(size), tellAmount(amount)],
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
  return table('Ladder', [`Price, ${quote}`, `Amount, ${base}`, `Sum, ${base}`], rows, 'numbers');
}

export const statusOf = ({ status, reason }: { readonly status: string; readonly reason?: string | undefined }) =>
  reason === undefined ? status : `${status}: ${reason}`;

/** A table of orders. Of many it shows the first ones. */
export function tableOf(page: Page, name: string, entries: readonly BookEntry[]) {
  const rows = entries.slice(0, ORDERS_SHOWN).map((entry) => {
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
  const hidden = entries.length - rows.length;
  return html`${table(name, ['Side', 'Pair', 'Price', 'Left', 'Status', 'Maker', 'Order'], rows)}
    ${hidden > 0 ? html`<p class="hint">${hidden} more are not shown.</p>` : ''}`;
}
