import type { OrderHistory } from '@makerbook/contracts-http';
import { html } from 'lit-html';
import { keyOf, nameOf, offerOf } from './list-markets.js';
import { linkOut, linkTo, table } from './show-rows.js';
import type { Page } from './state.js';
import { type Tokens, tellPrice, tellTime } from './tell-amounts.js';

type Entry = Extract<OrderHistory['entries'][number], { happened: 'FILLED' }>;
/** A fill, as query tells it. */
export type Fill = Entry & { readonly maker: string; readonly isAfterEnd: boolean };
/** Newest first; a text: why there are none. */
export type Fills = readonly Fill[] | string;

/** A fill as an order of its amounts: it has the price that was paid. Undefined where its tokens are not known. */
export function offerOfFill(fill: Omit<Entry, 'orderHash'>, tokens: Tokens) {
  const { makingToken, makingAmount, takingToken, takingAmount } = fill;
  if (makingToken === undefined || takingToken === undefined) return undefined;
  const making = { token: makingToken, amount: makingAmount };
  const taking = { token: takingToken, amount: takingAmount };
  return offerOf({ order: { making, taking }, remainingMakingAmount: makingAmount }, tokens);
}

/** A table of the newest fills, of all markets or of one. */
export function tableOfFills(
  page: Page,
  name: string,
  fills: Fills,
  { shownMax = Number.POSITIVE_INFINITY, market }: { readonly shownMax?: number; readonly market?: string } = {},
) {
  if (typeof fills === 'string') return html`<p>${fills}</p>`;
  const { tokens } = page;
  const offered = fills.map((fill) => ({ fill, offer: offerOfFill(fill, tokens) }));
  const shown = offered.filter(({ offer }) => market === undefined || (offer && keyOf(offer.market) === market));
  if (shown.length === 0 && fills.length > 0) return html`<p>None among the ${fills.length} newest of all pairs.</p>`;
  const tell = (amount?: string, token?: string) =>
    amount === undefined || token === undefined ? '–' : tokens.tell(amount, token);
  const rows = shown.slice(0, shownMax).map(({ fill, offer }) => {
    const { orderHash, makingToken, transactionHash, logIndex, blockNumber, blockTimestamp } = fill;
    const time = blockTimestamp === undefined ? `block ${blockNumber}` : tellTime(blockTimestamp * 1000);
    const cells = [
      offer === undefined ? '–' : offer.isAsk ? 'Sell' : 'Buy',
      linkOut(page, 'transaction', transactionHash, time),
      ...(market === undefined ? [offer === undefined ? '–' : nameOf(page, offer.market)] : []),
      tellPrice(offer?.price),
      tell(fill.makingAmount, makingToken),
      tell(fill.takingAmount, fill.takingToken),
      tell(fill.remainingMakingAmount, makingToken),
      linkTo('maker', fill.maker),
      html`${linkTo('order', orderHash)}${fill.isAfterEnd ? ', after its end' : ''}`,
    ];
    return { key: `${transactionHash} ${logIndex}`, className: offer?.isAsk ? 'sell' : 'buy', cells };
  });
  const pair = market === undefined ? ['Pair'] : [];
  const columns = ['Side', 'Block time (UTC)', ...pair, 'Price', 'Sold', 'For', 'Left', 'Maker', 'Order'];
  return table(name, columns, rows);
}
