import { html } from 'lit-html';
import { type Fills, keepAskingFills, tableOfFills } from './show-fills.js';
import { NEWEST_SHOWN, newestOf, tableOf } from './show-pairs.js';
import { facts, linkOut, table } from './show-rows.js';
import type { ConsoleState, Page, View } from './state.js';
import { tellAge } from './tell-amounts.js';

const UNANSWERED_SECONDS_MAX = 15;

type Checks = ConsoleState['checks'];

/** How many seconds ago /console/state answered; undefined if that is recent. Older checks are not shown. */
function silenceOf({ stateAtMs }: Page): number | undefined {
  const seconds = (performance.now() - stateAtMs) / 1000;
  return seconds > UNANSWERED_SECONDS_MAX ? seconds : undefined;
}

/** The checks of the processes, and those of the page itself. */
export function listChecks(page: Page): Checks {
  const { book, state, when } = page;
  const { nowSeconds, staleSecondsMax } = when();
  const stale = [...book.clocks.keys()].filter((partition) => book.ageOf(partition, nowSeconds) > staleSecondsMax);
  const silence = silenceOf(page);
  const told =
    silence === undefined ? 'sends this page the state' : `has sent this page no state for ${tellAge(silence)}`;
  return [
    { isWell: silence === undefined, what: `feed: ${told}`, alert: 'FeedDown' },
    ...(silence === undefined ? (state?.checks ?? []) : []),
    {
      isWell: stale.length === 0 && book.clocks.size > 0,
      what: `Stale partitions of the book: ${stale.length} of ${book.clocks.size}`,
      alert: 'FeedStale',
    },
  ];
}

/** The view of the services, and of what goes through them. */
export function openHealth(page: Page): View {
  const askFills = keepAskingFills(page, 1);
  return () => showHealth(page, askFills({ limit: `${NEWEST_SHOWN}` }));
}

function showHealth(page: Page, fills: Fills) {
  const { clocks } = page.book;
  const { tables = [], facts: told = [] } = page.state ?? {};
  const checks = listChecks(page);
  const wrong = checks.filter(({ isWell }) => !isWell);
  const well = checks.filter(({ isWell }) => isWell);
  return html`
    <h1>Health</h1>
    ${wrong.length > 0 ? showChecks(page, 'Wrong', wrong) : ''}
    <details><summary>✓ ${well.length} of ${checks.length} checks are ok</summary>${showChecks(page, 'Well', well)}</details>
    <h2>Partitions of the book</h2>
    <p class="hint">The age of the clock, facts that are not folded yet, and the projector.</p>
    <ol class="strip">${[...clocks.keys()].sort((a, b) => a - b).map((partition) => tile(page, partition))}</ol>
    <div class=${silenceOf(page) === undefined ? '' : 'stale'}>
      ${facts(told)}
      <div class="columns">
        ${tables.map(([title, columns, rows]) => {
          const shown = rows.map((cells) => ({ key: cells[0] ?? '', cells }));
          return html`<div><h2>${title}</h2>${table(title, columns, shown, 'numbers')}</div>`;
        })}
      </div>
    </div>
    <h2>Newest fills</h2>
    ${tableOfFills(page, 'Newest fills', fills)}
    <h2>Newest orders</h2>
    ${tableOf(page, 'Newest orders', newestOf([...page.book.entries.values()]))}`;
}

function showChecks(page: Page, name: string, checks: Checks) {
  const rows = checks.map(({ isWell, what, alert }) => {
    const link = linkOut(page, 'runbook', alert.toLowerCase(), alert);
    return { key: what, className: isWell ? '' : 'wrong', cells: [`${isWell ? '✓' : '✕'} ${what}`, link] };
  });
  return table(name, ['What', 'Runbook'], rows, 'checks');
}

/** The clock of a partition, and its owner. */
function tile({ book, state, when }: Page, partition: number) {
  const { nowSeconds, staleSecondsMax } = when();
  const age = book.ageOf(partition, nowSeconds);
  const [owner, lag] = state?.owners[partition] ?? ['no owner', 0];
  const isStale = age > staleSecondsMax;
  return html`
    <li class=${isStale ? 'stale' : ''} title="block ${book.clocks.get(partition)?.block.number}">
      <b>${partition}</b> ${tellAge(age)}<br>${isStale ? 'stale' : `${lag} behind`}<br>${owner}</li>`;
}
