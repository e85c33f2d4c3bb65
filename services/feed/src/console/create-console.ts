import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { MonotonicMs } from '@makerbook/contracts-primitives';
import {
  type ApiRequest,
  document,
  isRefusal,
  type Modules,
  okJson,
  pageHeaders,
  pageStyles,
  type Refusal,
  type Reply,
  type Route,
  serveDocument,
  serveModules,
  shareResult,
  unavailable,
} from '@makerbook/http';
import { readMetrics } from '@makerbook/telemetry';
import type { FeedSettings } from '../env.js';
import type { ConsoleState } from './browser/state.js';
import { describeState, type Reading } from './describe-state.js';

type Settings = Pick<FeedSettings, 'CONSOLE_METRICS' | 'CONSOLE_LINKS' | 'TOKENS' | 'STALE_SECONDS_MAX'>;

const PATH = '/console';
const STATE_AGE_MS_MAX = 2_000;
const ANSWER_MS_MAX = 5_000;
/** The patterns of ids that query may be asked about. A maker with a salt stands for its orders with this salt. */
const told = { orders: /^0x[0-9a-f]{64}$/, makers: /^0x[0-9a-f]{40}(:0x[0-9a-f]{1,64})?$/ };
/** Rates and durations cover the last half minute at least, and the last minute at most. */
const HALF_MS = 30_000;

const { resolve } = createRequire(import.meta.url);
const own = (path: string) => join(import.meta.dirname, '../..', path);
const beside = (name: string, path = '') => join(dirname(resolve(name)), path);
const read = (path: string) => readFileSync(path, 'utf8');

const primitives = '@makerbook/contracts-primitives';
const ofBook = ['choose-orders', 'quote-orders', 'rank-orders', 'read-fills', 'read-over-http', 'read-recording'];
const ofLit = ['lit-html.js', 'directive.js', 'directive-helpers.js', 'directives/repeat.js'];
/** The modules that the page loads. */
const modules: readonly Modules[] = [
  ['console', own('dist/console/browser')],
  ['@makerbook/book/browser', beside('@makerbook/book'), ['browser', ...ofBook].map((name) => `${name}.js`)],
  [primitives, beside(primitives)],
  ['lit-html', beside('lit-html', '..'), ofLit],
  ['uplot', beside('uplot'), ['uPlot.esm.js']],
];
const noCache = { 'Cache-Control': 'no-cache' };
const noStore = { 'Cache-Control': 'no-store' };

/**
 * The routes of the console: the page with all that it loads, the state of the processes, and what query tells
 * operators about an order or a maker. Processes are asked at most every two seconds, however many pages are open.
 * @param refuse refuses clients that may not read the book: they get neither the state nor what query tells
 * @throws if a file is missing from the build
 */
export function createConsole(
  settings: Settings,
  refuse: (request: ApiRequest) => Refusal | undefined,
  monotonicMs: () => MonotonicMs,
): Route[] {
  const { imports, documents: loaded } = serveModules(PATH, modules, noCache);
  const importMap = JSON.stringify({ imports: { ...imports, 'sorted-btree': `${PATH}/b-tree.js` } });
  const html = read(own('assets/console.html')).replace('{}', importMap);
  // This CommonJS module needs no other. Its own name has a +, which Express would take for a pattern.
  const commonJs = `const module = { exports: {} }, { exports } = module;\n${read(resolve('sorted-btree'))}`;
  const styles = pageStyles() + [beside('uplot', 'uPlot.min.css'), own('assets/console.css')].map(read).join('');
  const documents = [
    document(PATH, html, 'text/html', { ...noCache, ...pageHeaders(importMap) }),
    document(`${PATH}/style.css`, styles, 'text/css', noCache),
    document(`${PATH}/b-tree.js`, `${commonJs}\nexport default module.exports;\n`, 'text/javascript', noCache),
    ...loaded,
  ];
  const answer = (path: string, reply: (request: ApiRequest) => Promise<Reply>): Route => ({
    method: 'GET',
    path: `${PATH}/${path}`,
    handle: async (request) => refuse(request) ?? reply(request),
  });
  const [, query] = settings.CONSOLE_METRICS.find(([name]) => name === 'query') ?? [];
  return [
    ...documents.map(serveDocument),
    answer('state', shareResult(readState(settings, monotonicMs), STATE_AGE_MS_MAX)),
    ...Object.entries(told).map(([kind, pattern]) =>
      answer(`${kind}/{id}`, async ({ params: { id = '' } }) => {
        if (pattern.test(id)) return askQuery(`${query}/${kind}/${id}`);
        return {
          code: 'invalid_request',
          detail: `what follows ${PATH}/${kind}/ must be one of their ids, in lowercase`,
        };
      }),
    ),
  ];
}

/** Asks query what it tells operators. */
async function askQuery(url: string): Promise<Reply> {
  const asked = fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
  const read = asked.then((answer) => answer.json() as Promise<object>);
  const told = await read.catch(() => unavailable('query does not answer, or CONSOLE_METRICS does not name it'));
  return isRefusal(told) ? { code: told.code, detail: told.detail } : okJson(JSON.stringify(told), noStore);
}

function readState(settings: Settings, monotonicMs: () => MonotonicMs) {
  let [first, next]: Reading[] = [];
  const { STALE_SECONDS_MAX: staleSecondsMax, TOKENS: tokens } = settings;
  const links = Object.fromEntries(settings.CONSOLE_LINKS);
  return async () => {
    const told = await Promise.all(settings.CONSOLE_METRICS.map(([name = '', url]) => readMetrics(name, `${url}`)));
    const reading = { atMs: monotonicMs(), told };
    if (next === undefined || reading.atMs - next.atMs >= HALF_MS) [first, next] = [next ?? reading, reading];
    const described = describeState(first ?? reading, reading, staleSecondsMax);
    const state: ConsoleState = { tokens, links, staleSecondsMax, ...described };
    return okJson(JSON.stringify(state), noStore);
  };
}
