import { readOverHttp } from '@makerbook/book/browser';
import { find, say } from './elements.js';
import { FoldedBook } from './fold-records.js';
import { showHealth } from './show-health.js';
import { openMaker, openSearch, showOrder } from './show-order.js';
import { openPairs } from './show-pairs.js';
import { openQuote } from './show-quote.js';
import type { ConsoleState, Page } from './state.js';
import { Tokens, tellAge } from './tell-amounts.js';

const KEY = 'makerbook.reader-key';
const STATE_MS = 2_000;
/** While the health is not looked at, or the page is not seen. */
const STATE_MS_HIDDEN = 6_000;
const DRAW_MS = 400;
const AGAIN_MS = 3_000;

const key = sessionStorage.getItem(KEY) ?? undefined;
/** By how much the clock of the service is ahead of the one here. */
let aheadMs = 0;
let problem = 'Reading the book …';
const page: Page = {
  book: new FoldedBook(),
  tokens: new Tokens(),
  state: undefined,
  localFolder: undefined,
  when: () => ({ nowSeconds: (Date.now() + aheadMs) / 1000, staleSecondsMax: page.state?.staleSecondsMax ?? 5 }),
  ask: (path, init) => fetch(path, { ...init, headers: key === undefined ? {} : { Authorization: `Bearer ${key}` } }),
};
const views: Readonly<Record<string, (argument?: string) => void>> = {
  pairs: openPairs(page),
  quote: openQuote(page),
  health: () => showHealth(page),
  order: (hash = '') => showOrder(page, hash),
  maker: openMaker(page),
};

openSearch();
find('key-form', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEY, find('key', HTMLInputElement).value);
  location.reload();
});
addEventListener('hashchange', () => {
  showView();
  find('main').focus();
  scrollTo(0, 0);
});
await Promise.all([readState(), findLocalStack()]);
followBook();
void keepReadingState();
void keepDrawing();

function followBook(): void {
  const reader = readOverHttp({ baseUrl: location.origin, ...(key !== undefined && { key }) });
  const { caughtUp } = reader.followTopic({
    topic: '',
    from: 'beginning',
    onRecords: (_, records) => {
      for (const record of records) page.book.apply(record, Date.now() + aheadMs);
    },
    onFatal: (error) => {
      problem = error.message;
      // It cannot be read on from here: the page begins anew. A reader who is refused is asked for the key.
      if (/answers 401/.test(problem)) find('key-form').hidden = false;
      else setTimeout(() => location.reload(), AGAIN_MS);
    },
  });
  void caughtUp.then(() => {
    problem = '';
    page.book.isLive = true;
  });
}

async function findLocalStack(): Promise<void> {
  const answer = await fetch('/local/stack.json').catch(() => undefined);
  if (answer?.ok) page.localFolder = ((await answer.json()) as { folder: string }).folder;
}

async function readState(): Promise<void> {
  const answer = await page.ask('/console/state').catch(() => undefined);
  if (!answer?.ok) return;
  page.state = (await answer.json()) as ConsoleState;
  page.tokens.learn(page.state.tokens);
  aheadMs = Number(answer.headers.get('X-Server-Time')) - Date.now();
}

async function keepReadingState(): Promise<void> {
  for (;;) {
    const isLookedAt = document.visibilityState === 'visible' && !find('view-health').hidden;
    await pause(isLookedAt ? STATE_MS : STATE_MS_HIDDEN);
    await readState();
  }
}

/** Draws while the page is seen. A view of a large book is drawn less often: it takes a tenth of the time at most. */
async function keepDrawing(): Promise<void> {
  for (let nextAt = 0; ; await pause(DRAW_MS)) {
    if (document.visibilityState !== 'visible') continue;
    showMoment();
    const startedAt = performance.now();
    if (startedAt < nextAt) continue;
    showView();
    nextAt = performance.now() + 9 * (performance.now() - startedAt);
  }
}

function showView(): void {
  const [named = '', argument] = location.hash.slice(1).split('/');
  const view = named in views ? named : 'pairs';
  for (const name of Object.keys(views)) find(`view-${name}`).hidden = name !== view;
  for (const link of document.querySelectorAll('nav a'))
    link.ariaCurrent = link.getAttribute('href') === `#${view}` ? 'page' : null;
  views[view]?.(argument);
  document.title = `${document.querySelector('section:not([hidden]) h1')?.textContent} – console`;
}

function showMoment(): void {
  const { clocks, entries } = page.book;
  say('problem', problem);
  if (clocks.size === 0) return;
  const { nowSeconds, staleSecondsMax } = page.when();
  const ages = [...clocks.keys()].map((partition) => page.book.ageOf(partition, nowSeconds));
  const stale = ages.filter((age) => age > staleSecondsMax).length;
  const unwell = page.state?.unwell.length ?? 0;
  say('block', String(Math.min(...[...clocks.values()].map(({ block }) => block.number))));
  say('clock', tellAge(Math.max(...ages)));
  say('fresh', stale === 0 ? `✓ all ${ages.length} fresh` : `✕ ${stale} of ${ages.length} stale`);
  say('open-orders', entries.size.toLocaleString('en'));
  say('unwell-count', unwell === 0 ? '' : ` (${unwell})`);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
