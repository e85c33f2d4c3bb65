import type { BookEntry } from '@makerbook/contracts-events';
import { openDepthChart } from './draw-depth.js';
import { fillRows, find, type Row, say } from './elements.js';
import { depthOf, listMarkets, listOffers, type Market, type Offer, seriesOf } from './list-markets.js';
import type { Page } from './state.js';
import { shorten, tellPrice, tellUnits } from './tell-amounts.js';

const OFFERS_MAX = 100;

/** The view of all pairs and of a chosen one. @returns draws it; `chosen`: the key of a market */
export function openPairs(page: Page): (chosen?: string) => void {
  let draw: ReturnType<typeof openDepthChart> | undefined;
  return (chosen) => {
    const when = page.when();
    const markets = listMarkets(page.book, page.tokens, when);
    const market = markets.find(({ key }) => key === chosen) ?? markets[0];
    fillRows(
      'markets',
      markets.map((each) => rowOf(page, each, each === market)),
    );
    find('no-markets').hidden = markets.length > 0;
    find('market').hidden = market === undefined;
    if (market === undefined) return;
    const { symbol: quote } = page.tokens.of(market.quote);
    say('market-name', `${nameOf(page, market)}, priced in ${quote}`);
    const fresh = depthOf(page.book, market, page.tokens, when);
    const all = depthOf(page.book, market, page.tokens, { ...when, staleSecondsMax: Infinity });
    draw ??= openDepthChart(find('depth'));
    draw(seriesOf(fresh, all));
    const words = describeDepth(page, market, fresh);
    find('depth').ariaLabel = words;
    say('depth-words', words);
    const offers = listOffers(page.book, market.key, page.tokens);
    fillRows(
      'offers',
      offers.slice(0, OFFERS_MAX).map((offer) => rowOfOffer(page, offer)),
    );
    say('offers-left', offers.length > OFFERS_MAX ? `${offers.length - OFFERS_MAX} more are not shown.` : '');
  };
}

export function nameOf({ tokens }: Page, { base, quote }: Pick<Market, 'base' | 'quote'>): string {
  return `${tokens.of(base).symbol}/${tokens.of(quote).symbol}`;
}

function rowOf(page: Page, market: Market, isChosen: boolean): Row {
  const { key, bid, ask, orders, stale, makers } = market;
  const fresh = stale === 0 ? 'all fresh' : `${stale} stale`;
  return {
    key,
    className: `${isChosen ? 'chosen' : ''}${stale === orders ? ' stale' : ''}`.trim(),
    cells: [
      { text: `${isChosen ? '▸ ' : ''}${nameOf(page, market)}`, href: `#pairs/${key}` },
      tellPrice(bid),
      tellPrice(ask),
      String(orders),
      String(makers),
      fresh,
    ],
  };
}

function describeDepth(page: Page, market: Market, { bids, asks }: ReturnType<typeof depthOf>): string {
  const { symbol } = page.tokens.of(market.base);
  const side = (points: typeof bids, does: string) => {
    const last = points.at(-1);
    if (last === undefined) return `nobody ${does}s now`;
    return `makers ${does} ${last.amount.toLocaleString('en', { maximumSignificantDigits: 6 })} ${symbol}`;
  };
  return `Depth: ${side(bids, 'buy')}, ${side(asks, 'sell')}. Amounts are executable: within the funds of the makers, and without stale partitions.`;
}

export const statusOf = (entry: BookEntry) =>
  entry.status === 'INACTIVE' ? `INACTIVE: ${entry.reason}` : entry.status;

/** An order in a list. */
export function rowOfOffer(page: Page, { entry, isAsk, price, share }: Offer): Row {
  const { making, maker } = entry.order;
  const { decimals, symbol } = page.tokens.of(making.token);
  const isStale = page.book.isStale(entry, page.when());
  const status = statusOf(entry);
  return {
    key: entry.orderHash,
    className: `${isStale ? 'stale ' : ''}${isAsk ? 'sell' : 'buy'} ${entry.status}`,
    cells: [
      isAsk ? 'Sell' : 'Buy',
      tellPrice(price),
      { text: `${tellUnits(BigInt(entry.remainingMakingAmount), decimals)} ${symbol}`, share },
      isStale ? `${status}, stale` : status,
      { text: shorten(maker), href: `#maker/${maker}`, title: maker },
      { text: shorten(entry.orderHash), href: `#order/${entry.orderHash}`, title: entry.orderHash },
    ],
  };
}
