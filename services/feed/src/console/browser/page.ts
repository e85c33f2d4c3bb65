import { readOverHttp } from '@makerbook/book/browser';
import { html, nothing, render } from 'lit-html';
import { FoldedBook } from './fold-records.js';
import { listChecks, openHealth } from './show-health.js';
import { openMaker } from './show-maker.js';
import { openOrder } from './show-order.js';
import { openPairs } from './show-pairs.js';
import { openQuote } from './show-quote.js';
import { type Content, facts } from './show-rows.js';
import type { ConsoleState, Page, View } from './state.js';
import { Tokens, tellAge } from './tell-amounts.js';

const KEY = 'makerbook.reader-key';
const STATE_MS = 2_000;
const DRAW_MS = 400;
const AGAIN_MS = 3_000;
const ASK_MS_MAX = 60_000;

const key = sessionStorage.getItem(KEY) ?? '';
/** How far the clock of the service is ahead of the one here. */
let aheadMs = 0;
let [problem, isRefused] = ['Reading the book …', false];
const local = await fetch('/local/stack.json').catch(() => undefined);
const page: Page = {
  book: new FoldedBook(),
  tokens: new Tokens(),
  state: undefined,
  stateAtMs: performance.now(),
  localFolder: local?.ok ? ((await local.json()) as { folder: string }).folder : undefined,
  when: () => ({
    nowSeconds: (Date.now() + aheadMs) / 1000,
    staleSecondsMax: page.state?.staleSecondsMax ?? 5,
  }),
  ask: (path, init) =>
    fetch(path, { ...init, headers: { Authorization: `Bearer ${key}` }, signal: AbortSignal.timeout(ASK_MS_MAX) }),
};
const views: Readonly<Record<string, View>> = {
  pairs: openPairs(page),
  quote: openQuote(page),
  health: openHealth(page),
  order: openOrder(page),
  maker: openMaker(page),
};

addEventListener('hashchange', () => {
  draw();
  document.querySelector('main')?.focus({ preventScroll: true });
  scrollTo(0, 0);
});
followBook();
void repeat(draw, DRAW_MS);
void repeat(readState, STATE_MS);

/** Opens a reader of the book. If the key is malformed, the page asks for another one. */
function openReader(): ReturnType<typeof readOverHttp> | undefined {
  try {
    return readOverHttp({ baseUrl: location.origin, ...(key !== '' && { key }) });
  } catch (error) {
    [problem, isRefused] = [String(error), true];
    return undefined;
  }
}

function followBook(): void {
  const reader = openReader();
  if (reader === undefined) return;
  const { caughtUp } = reader.followTopic({
    topic: '',
    from: 'beginning',
    onRecords: (_, records) => {
      for (const record of records) page.book.apply(record, Date.now() + aheadMs);
    },
    onFatal: (error) => {
      problem = error.message;
      // The book cannot be read on from here, so load the page again.
      isRefused = /answers 401/.test(problem);
      if (!isRefused) setTimeout(() => location.reload(), AGAIN_MS);
    },
  });
  void caughtUp.then(() => {
    problem = '';
    page.book.isLive = true;
  });
}

async function readState(): Promise<void> {
  const answer = await page.ask('/console/state');
  if (!answer.ok) return;
  page.state = (await answer.json()) as ConsoleState;
  page.stateAtMs = performance.now();
  page.tokens.learn(page.state.tokens);
  aheadMs = Number(answer.headers.get('X-Server-Time')) - Date.now();
}

/**
 * Repeats the work while the page is visible. Takes a tenth of the time at most, because a large book takes long to
 * draw. Tries again after a failure, because an answer can be cut.
 */
async function repeat(work: () => void | Promise<void>, everyMs: number): Promise<void> {
  for (;;) {
    const startedAt = performance.now();
    const done = (async () => work())().catch((error: unknown) => console.warn(error));
    const pauseMs = Math.max(everyMs, 9 * (performance.now() - startedAt));
    await done;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    // A page that is not visible has no frames.
    await new Promise(requestAnimationFrame);
  }
}

function draw(): void {
  const [named = '', argument = ''] = location.hash.slice(1).split('/');
  const name = Object.hasOwn(views, named) ? named : 'pairs';
  const unwell = listChecks(page).filter(({ isWell }) => !isWell).length;
  const link = (view: string, text: string) =>
    html`<a href="#${view}" aria-current=${view === name ? 'page' : nothing}>${text}</a>`;
  const drawn = html`
    <a class="skip" href="#main">Skip to the view</a>
    <header>
      <nav aria-label="Views">${link('pairs', 'Pairs')} ${link('quote', 'Quote')}
        ${link('health', unwell === 0 ? 'Health' : `Health (${unwell})`)}</nav>
      <search><form @submit=${submit}>
        <input type="search" name="words" aria-label="Order hash, maker, or maker and salt" placeholder="Order hash, or maker and salt" autocomplete="off">
        <button type="submit">Go</button>
      </form></search>
      ${facts(describeMoment())}
      <output>${problem}</output>
      <form @submit=${submit} ?hidden=${!isRefused}>
        <label>Key of a reader of the book <input type="password" name="key" required autocomplete="off"></label>
        <button type="submit">Use it</button>
      </form>
    </header>
    <main id="main" tabindex="-1">${views[name]?.(argument)}</main>`;
  render(drawn, document.body);
  document.title = `${document.querySelector('h1')?.textContent} – console`;
}

function describeMoment(): [name: string, value: Content][] {
  const { clocks, entries } = page.book;
  const { nowSeconds, staleSecondsMax } = page.when();
  const ages = [...clocks.keys()].map((partition) => page.book.ageOf(partition, nowSeconds));
  const stale = ages.filter((age) => age > staleSecondsMax).length;
  if (clocks.size === 0) return [];
  return [
    ['Block', String(Math.min(...[...clocks.values()].map(({ block }) => block.number)))],
    ['Last clock', tellAge(Math.max(...ages))],
    [
      'Partitions',
      stale === 0 ? `✓ all ${ages.length} fresh` : html`<b class="wrong">✕ ${stale} of ${ages.length} stale</b>`,
    ],
    ['Open orders', entries.size.toLocaleString('en')],
  ];
}

/** Goes to the order or maker that the user looks for, or reads with the key that the user gives. */
function submit(event: SubmitEvent): void {
  event.preventDefault();
  const given = new FormData(event.target as HTMLFormElement);
  const words = String(given.get('words')).trim().toLowerCase();
  const [, maker, salt] = /^(0x[0-9a-f]{40})(?:[\s,:/]+(0x[0-9a-f]{1,64}|\d{1,78}))?$/.exec(words) ?? [];
  const view = /^0x[0-9a-f]{64}$/.test(words)
    ? `order/${words}`
    : maker && `maker/${maker}${salt ? `:0x${BigInt(salt).toString(16)}` : ''}`;
  if (given.has('key')) {
    sessionStorage.setItem(KEY, String(given.get('key')).trim());
    location.reload();
  }
  problem = view === undefined ? 'An order hash has 64 hex digits, a maker 40; the salt is a number after it.' : '';
  if (view !== undefined) location.hash = view;
}
