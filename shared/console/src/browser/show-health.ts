import { html } from 'lit-html';
import type { Page } from './page.js';
import { facts, linkOut, table } from './show-rows.js';
import { tellAge } from './tell-amounts.js';

/** The view of the services, and of what goes through them. */
export function showHealth(page: Page) {
  const { clocks } = page.book;
  const { checks = [], tables = [], facts: told = [] } = page.state ?? {};
  const states = checks.map(({ isWell, what, alert }) => {
    const link = linkOut(page, 'runbook', alert.toLowerCase(), alert);
    return { key: what, className: isWell ? '' : 'sell', cells: [`${isWell ? '✓' : '✕'} ${what}`, link] };
  });
  return html`
    <h1>Health</h1>
    <h2>Partitions of the book</h2>
    <ol class="strip">${[...clocks.keys()].sort((a, b) => a - b).map((partition) => tile(page, partition))}</ol>
    ${facts(told)}
    <div class="columns">
      ${tables.map(([title, columns, rows]) => {
        const shown = rows.map((cells) => ({ key: cells[0] ?? '', cells }));
        return html`<div><h2>${title}</h2>${table(title, columns, shown, 'numbers')}</div>`;
      })}
      <div><h2>State</h2>${table('State', ['What', 'Runbook'], states)}</div>
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
