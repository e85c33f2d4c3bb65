import type { BookEntry } from '@makerbook/contracts-events';
import type { OrderReport } from '@makerbook/contracts-http';
import { html } from 'lit-html';
import { keyOf, nameOf, offerOf } from './list-markets.js';
import { offerOfFill } from './show-fills.js';
import { statusOf } from './show-pairs.js';
import { type Content, facts, keepAsking, linkOut, linkTo, table } from './show-rows.js';
import type { Page, View } from './state.js';
import { shorten, type Tokens, tellPrice, tellTime } from './tell-amounts.js';

type Funding = Extract<BookEntry, { funding: object }>['funding'];
type Step = OrderReport['timeline'][number];

export const fundingOf = (entry: BookEntry) => (entry.status === 'VALIDATING' ? undefined : entry.funding);

/** Formats balance and allowance. */
export function tellFunds(tokens: Tokens, token: string, funding: Funding | undefined): readonly [string, string] {
  if (funding === undefined) return ['not read yet', 'not read yet'];
  const isUnlimited = BigInt(funding.allowance) >= 2n ** 255n;
  return [tokens.tell(funding.balance, token), isUnlimited ? 'unlimited' : tokens.tell(funding.allowance, token)];
}

/** The view of one order: its record in the book, and its history from query. */
export function openOrder(page: Page): View {
  const ask = keepAsking<OrderReport>(page);
  return (hash) => {
    const entry = page.book.entries.get(hash);
    const report = ask(`/console/orders/${hash}`);
    const known = entry ?? (typeof report === 'object' ? report : undefined);
    return html`
      <h1>Order</h1>
      <p><code>${hash}</code></p>
      <p id="order-said" ?hidden=${entry !== undefined}>It is not in the book now.</p>
      ${known && html`<div id="terms">${facts(describeTerms(page, known, entry))}</div>`}
      <h2>Timeline</h2>
      ${typeof report === 'string' ? report : showTimeline(page, report)}`;
  };
}

function describeTerms(page: Page, known: BookEntry | OrderReport, entry: BookEntry | undefined) {
  const { tokens } = page;
  const { making, taking, maker, expiresAt, nonce, salt } = known.order;
  const { market, price, share } = offerOf(known, tokens);
  const filled = BigInt(making.amount) - BigInt(known.remainingMakingAmount);
  const after = 'filledAfterEnd' in known ? known.filledAfterEnd : undefined;
  const late = after === undefined ? '' : `, ${tokens.tell(after, making.token)} of it after its end`;
  const terms: [name: string, value: Content][] = [
    ['Maker', linkTo('maker', maker)],
    ['Sells', tokens.tell(making.amount, making.token)],
    ['For', tokens.tell(taking.amount, taking.token)],
    ['Price', html`${tellPrice(price)} in <a href="#pairs/${keyOf(market)}">${nameOf(page, market)}</a>`],
    ['Status', statusOf(known)],
    ['Left', `${tokens.tell(known.remainingMakingAmount, making.token)}, ${(share * 100).toFixed(2)} %`],
    ['Filled', `${tokens.tell(filled, making.token)}${late}`],
    ['Accepted (UTC)', tellTime(known.acceptedAtMs)],
    ['Expires (UTC)', tellTime(Number(expiresAt) * 1000)],
    ['Nonce', String(BigInt(nonce))],
    ['Salt', html`<a href="#maker/${maker}:${salt}" title=${salt}>${shorten(salt)}</a>`],
  ];
  if (entry === undefined) return terms;
  const funding = fundingOf(entry);
  const { partition, offset } = entry.position;
  const [balance, allowance] = tellFunds(tokens, making.token, funding);
  const block = funding === undefined ? '–' : linkOut(page, 'block', String(funding.block));
  return terms.concat([
    ['Judged by', html`balance ${balance}, allowance ${allowance}, of block ${block}`],
    ['Routed until (UTC)', tellTime(entry.routableUntil * 1000)],
    ['Last fact', `${partition}:${offset}, ${page.book.isStale(entry, page.when()) ? 'stale' : 'fresh'}`],
  ]);
}

function showTimeline(page: Page, { timeline, order }: OrderReport) {
  const { tokens } = page;
  const { making, taking } = order;
  const rows = timeline.map((step, n) => {
    const [what, left] =
      step.happened === 'FILLED'
        ? [
            html`FILLED by <span title=${step.taker}>${shorten(step.taker)}</span>,
              ${tokens.tell(step.makingAmount, making.token)} for ${tokens.tell(step.takingAmount, taking.token)}
              at ${tellPrice(offerOfFill(step, tokens)?.price)}`,
            step.remainingMakingAmount === undefined ? '–' : tokens.tell(step.remainingMakingAmount, making.token),
          ]
        : [`${step.happened}: ${statusOf(step)}`, tokens.tell(step.remainingMakingAmount, making.token)];
    const seenMs = page.book.seenMs.get(step.position);
    const seen = seenMs === undefined ? '–' : `${seenMs - step.loggedAtMs} ms later`;
    const cells = [tellTime(step.loggedAtMs), what, left, tellCause(page, step), step.position, seen];
    return { key: `${n} ${step.position}`, cells };
  });
  return table('Timeline', ['Logged at (UTC)', 'Happened', 'Left', 'Cause', 'Fact', 'Router saw it'], rows);
}

function tellCause(page: Page, step: Step): Content {
  const block = (number: number) => html`block ${linkOut(page, 'block', String(number))}`;
  const log = (hash: string, number: number) =>
    html`tx ${linkOut(page, 'transaction', hash, shorten(hash))}, ${block(number)}`;
  if (step.happened === 'FILLED') {
    const { transactionHash, blockNumber, blockTimestamp } = step;
    const time = blockTimestamp === undefined ? '' : ` of ${tellTime(blockTimestamp * 1000)}`;
    return html`${log(transactionHash, blockNumber)}${time}`;
  }
  const { cause } = step;
  if (cause.kind === 'log') return log(cause.transactionHash, cause.block.number);
  if (cause.kind === 'request')
    return html`request ${linkOut(page, 'request', cause.requestId, shorten(cause.requestId))}`;
  if (cause.kind === 'operator') return 'an operator';
  return html`${cause.kind === 'read' ? `read for ${cause.occasion}, ` : ''}${block(cause.block.number)}`;
}
