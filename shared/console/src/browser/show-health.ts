import { html } from 'lit-html';
import type { Page } from './page.js';
import { facts, linkOut, table } from './show-rows.js';
import type { ConsoleState } from './state.js';
import { tellAge } from './tell-amounts.js';

const UNANSWERED_MS_MAX = 15_000;

/** What is well or not, by the processes and by what the page sees itself: what is wrong first. */
export function listChecks({ book, state, stateAtMs, when }: Page): ConsoleState['checks'] {
  const { nowSeconds, staleSecondsMax } = when();
  const stale = [...book.clocks.keys()].filter((partition) => book.ageOf(partition, nowSeconds) > staleSecondsMax);
  const isAnswered = performance.now() - stateAtMs < UNANSWERED_MS_MAX;
  const own = [
    {
      isWell: isAnswered,
      what: `feed: ${isAnswered ? 'tells' : 'does not tell'} this page the state`,
      alert: 'FeedDown',
    },
    {
      isWell: stale.length === 0,
      what: `Stale partitions of the book: ${stale.length} of ${book.clocks.size}`,
      alert: 'FeedStale',
    },
  ];
  const checks = [...(state?.checks ?? []), ...own];
  return [...checks.filter(({ isWell }) => !isWell), ...checks.filter(({ isWell }) => isWell)];
}

/** The view of the services, and of what goes through them. */
export function showHealth(page: Page) {
  const { clocks } = page.book;
  const { tables = [], facts: told = [] } = page.state ?? {};
  const states = listChecks(page).map(({ isWell, what, alert }) => {
    const link = linkOut(page, 'runbook', alert.toLowerCase(), alert);
    return { key: what, className: isWell ? '' : 'wrong', cells: [`${isWell ? '✓' : '✕'} ${what}`, link] };
  });
  return html`
    <h1>Health</h1>
    ${table('State', ['What', 'Runbook'], states)}
    <h2>Partitions of the book</h2>
    <ol class="strip">${[...clocks.keys()].sort((a, b) => a - b).map((partition) => tile(page, partition))}</ol>
    ${facts(told)}
    <div class="columns">
      ${tables.map(([title, columns, rows]) => {
        const shown = rows.map((cells) => ({ key: cells[0] ?? '', cells }));
        return html`<div><h2>${title}</h2>${table(title, columns, shown, 'numbers')}</div>`;
      })}
    </div>`;
}

/** The clock of a partition, and who works on it. */
function tile({ book, state, when }: Page, partition: number) {
  const { nowSeconds, staleSecondsMax } = when();
  const age = book.ageOf(partition, nowSeconds);
  const [owner, lag] = state?.owners[partition] ?? ['no owner', 0];
  const isStale = age > staleSecondsMax;
  return html`
    <li class=${isStale ? 'stale' : ''} title="block ${book.clocks.get(partition)?.block.number}">
      <b>${partition}</b> ${tellAge(age)}<br>${isStale ? 'stale' : `lag ${lag}`}<br>${owner}</li>`;
}
