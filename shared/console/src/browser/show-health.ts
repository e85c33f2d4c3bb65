import { element, fillRows, find, say } from './elements.js';
import type { Page } from './state.js';
import { tellAge, tellSeconds } from './tell-amounts.js';

/** The view of the services, and of what goes through them. */
export function showHealth(page: Page): void {
  fillStrip(page);
  const { state } = page;
  if (state === undefined) return;
  for (const [id, rows] of Object.entries(state.tables)) {
    const shown = rows.map((cells) => ({ key: cells[0] ?? '', cells }));
    fillRows(id, id === 'durations' ? [describeActive(page), ...shown] : shown);
  }
  for (const [id, text] of Object.entries(state.texts)) say(id, text);
  const { counts } = page.book;
  say('counts', [...counts].map(([what, count]) => `${what} ${count}`).join(', ') || 'nothing yet');
  find('no-refusals').hidden = state.tables['refusals']?.length !== 0;
  find('all-well').hidden = state.unwell.length > 0;
  const items = state.unwell.map(({ what, alert }) => {
    const anchor = `#${alert.toLowerCase()}`;
    const known = element('a', { href: state.runbooks + anchor }, alert);
    return element('li', {}, `✕ ${what}. Runbook: `, state.runbooks === '' ? `alerts.md${anchor}` : known);
  });
  const list = find('unwell');
  if (list.textContent !== items.map(({ textContent }) => textContent).join('')) list.replaceChildren(...items);
}

/** The clocks as a strip: a partition each, with the seconds since its block. */
function fillStrip({ book, state, when }: Page): void {
  const { nowSeconds, staleSecondsMax } = when();
  const items = [...book.clocks]
    .sort(([one], [other]) => one - other)
    .map(([partition, { block }]) => {
      const age = book.ageOf(partition, nowSeconds);
      const [owner, lag] = state?.owners[partition] ?? ['no owner', 0];
      const isStale = age > staleSecondsMax;
      const lines = [tellAge(age), isStale ? 'stale' : `lag ${lag}`, owner].map((line) => element('span', {}, line));
      const properties = { className: isStale ? 'stale' : '', title: `block ${block.number}` };
      return element('li', properties, element('b', {}, String(partition)), ...lines);
    });
  find('strip').replaceChildren(...items);
}

function describeActive({ book: { toActive } }: Page) {
  const sorted = [...toActive].sort((a, b) => a - b);
  const at = (share: number) => tellSeconds(sorted[Math.floor(share * (sorted.length - 1))]);
  return { key: 'active', cells: ['POST → ACTIVE, as it came here', String(sorted.length), at(0.5), at(0.99)] };
}
