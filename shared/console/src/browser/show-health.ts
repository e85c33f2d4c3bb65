import { html } from 'lit-html';
import { facts, linkOut, table } from './show-rows.js';
import type { Page, View } from './state.js';
import { tellAge, tellSeconds } from './tell-amounts.js';

/** The view of the services, and of what goes through them. */
export function openHealth(page: Page): View {
  const { book } = page;
  return () => {
    const { unwell = [], tables = [], facts: told = [] } = page.state ?? {};
    const counts = [...book.counts].map(([what, count]) => `${what} ${count}`).join(', ') || 'nothing yet';
    const sorted = book.toActive.toSorted((a, b) => a - b);
    const [median, p99] = [0.5, 0.99].map((share) => tellSeconds(sorted[Math.floor(share * (sorted.length - 1))]));
    const active = `${sorted.length} times, median ${median}, p99 ${p99}`;
    return html`
      <h1>Health</h1>
      <ul id="unwell">${unwell.map(
        ({ what, alert }) =>
          html`<li class="sell">✕ ${what}. Runbook: ${linkOut(page, 'runbook', alert.toLowerCase(), alert)}</li>`,
      )}</ul>
      <p ?hidden=${unwell.length > 0}>✓ All is well.</p>
      <h2>Partitions of the book</h2>
      <ol class="strip">${[...book.clocks.keys()].sort((a, b) => a - b).map((partition) => tile(page, partition))}</ol>
      ${facts([...told, ['Since this page was opened', counts], ['POST → ACTIVE, as it came here', active]])}
      <div class="columns">${tables.map(([title, columns, rows]) => {
        const shown = rows.map((cells) => ({ key: cells[0] ?? '', cells }));
        return html`<div><h2>${title}</h2>${shown.length === 0 ? 'None.' : table(title, columns, shown)}</div>`;
      })}</div>`;
  };
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
