import type { BookFill } from '@makerbook/book/browser';
import { html } from 'lit-html';
import { nameOf, offerOf } from './list-markets.js';
import { keepAsking, linkOut, linkTo, table } from './show-rows.js';
import type { Page } from './state.js';
import { type Tokens, tellPrice, tellTime } from './tell-amounts.js';

/** The fills, newest first, or a text that says why there are none. */
export type Fills = readonly BookFill[] | string;
type Amounts = Pick<BookFill, 'makingAmount' | 'takingAmount'> & {
  readonly [Token in 'makingToken' | 'takingToken']?: BookFill[Token] | undefined;
};

const FILLS_MS = 4_000;

/**
 * Asks for the newest fills while a view shows them.
 * @returns a function that asks for the fills that fit any of its queries
 */
export function keepAskingFills(page: Page, queries: number) {
  const asks = Array.from({ length: queries }, () =>
    keepAsking<{ readonly fills: readonly BookFill[] }>(page, FILLS_MS),
  );
  return (...wanted: readonly Readonly<Record<string, string>>[]): Fills => {
    const told = asks.map((ask, n) => ask(`/v0alpha/book/fills?${new URLSearchParams(wanted[n])}`));
    const fills: BookFill[] = [];
    for (const answer of told) {
      if (typeof answer === 'string') return answer;
      fills.push(...answer.fills);
    }
    return fills.sort((one, other) => other.blockNumber - one.blockNumber || other.logIndex - one.logIndex);
  };
}

/** Describes a fill as an order of its amounts, at the price that was paid. Undefined if its tokens are unknown. */
export function offerOfFill(fill: Amounts, tokens: Tokens) {
  const { makingToken, makingAmount, takingToken, takingAmount } = fill;
  if (makingToken === undefined || takingToken === undefined) return undefined;
  const making = { token: makingToken, amount: makingAmount };
  const taking = { token: takingToken, amount: takingAmount };
  return offerOf({ order: { making, taking }, remainingMakingAmount: makingAmount }, tokens);
}

/** A table of fills. @param isOfPair true if all are of one pair, which needs no column */
export function tableOfFills(page: Page, name: string, fills: Fills, { isOfPair = false } = {}) {
  if (typeof fills === 'string') return html`<p>${fills}</p>`;
  const { tokens } = page;
  const tell = (amount?: string, token?: string) =>
    amount === undefined || token === undefined ? '–' : tokens.tell(amount, token);
  const rows = fills.map((fill) => {
    const { orderHash, makingToken, transactionHash, logIndex, blockNumber, blockTimestamp } = fill;
    const offer = offerOfFill(fill, tokens);
    const time = blockTimestamp === undefined ? `block ${blockNumber}` : tellTime(blockTimestamp * 1000);
    const cells = [
      offer === undefined ? '–' : offer.isAsk ? 'Sell' : 'Buy',
      linkOut(page, 'transaction', transactionHash, time),
      ...(isOfPair ? [] : [offer === undefined ? '–' : nameOf(page, offer.market)]),
      tellPrice(offer?.price),
      tell(fill.makingAmount, makingToken),
      tell(fill.takingAmount, fill.takingToken),
      tell(fill.remainingMakingAmount, makingToken),
      linkTo('maker', fill.maker),
      linkTo('order', orderHash),
    ];
    return { key: `${transactionHash} ${logIndex}`, className: offer?.isAsk ? 'sell' : 'buy', cells };
  });
  const pair = isOfPair ? [] : ['Pair'];
  const columns = ['Side', 'Block time (UTC)', ...pair, 'Price', 'Sold', 'For', 'Left', 'Maker', 'Order'];
  return table(name, columns, rows);
}
