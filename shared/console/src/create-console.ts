import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import {
  type ApiRequest,
  isRefusal,
  okJson,
  pagePolicy,
  type Refusal,
  type Reply,
  type Route,
  shareResult,
  unavailable,
} from '@makerbook/http';
import type { ConsoleState, Linked } from './browser/state.js';
import { describeState, type Reading } from './describe-state.js';
import { readMetrics } from './read-metrics.js';

export interface ConsoleOptions extends Pick<ConsoleState, 'tokens' | 'staleSecondsMax'> {
  /** The processes, each with the address of its ops port. */
  readonly services: readonly { readonly name: string; readonly url: string }[];
  readonly links: readonly (readonly [Linked, string])[];
  /** Refuses who may not read the book: the state and what query tells is for the others alone. */
  readonly refuse: (request: ApiRequest) => Refusal | undefined;
  readonly nowMs: () => number;
}

const PATH = '/console';
const STATE_AGE_MS_MAX = 2_000;
const ANSWER_MS_MAX = 5_000;
/** Rates and durations are those since the oldest reading that is kept. */
const READING_AGE_MS_MAX = 60_000;
/** Between readings that are kept: each holds all samples of all processes. */
const READING_GAP_MS = 20_000;

const { resolve } = createRequire(import.meta.url);
const own = (path: string) => join(import.meta.dirname, '..', path);
const beside = (name: string, path = '') => join(dirname(resolve(name)), path);
const read = (path: string) => readFileSync(path, 'utf8');

/** What the page loads: folders and their modules. All are served as files of one folder, as which they import each other. */
const folders: readonly (readonly [folder: string, modules: readonly string[]])[] = [
  [own('dist/browser'), readdirSync(own('dist/browser')).filter((name) => name.endsWith('.js'))],
  [
    beside('@makerbook/book'),
    ['browser.js', 'quote-orders.js', 'rank-orders.js', 'read-over-http.js', 'read-recording.js'],
  ],
  [beside('@makerbook/contracts-primitives'), ['index.js']],
  [beside('lit-html', '..'), ['lit-html.js', 'directive.js', 'directive-helpers.js', 'directives/repeat.js']],
  [beside('uplot'), ['uPlot.esm.js']],
];
const imports = {
  '@makerbook/book/browser': `${PATH}/browser.js`,
  '@makerbook/contracts-primitives': `${PATH}/index.js`,
  'lit-html': `${PATH}/lit-html.js`,
  'lit-html/directives/repeat.js': `${PATH}/directives/repeat.js`,
  'sorted-btree': `${PATH}/b-tree.js`,
  uplot: `${PATH}/uPlot.esm.js`,
};

/**
 * The console: the page with all that it loads, and what it asks for: the state of the processes, which are asked every two seconds
 * at most, however many pages are open, and what query tells operators of an order and of a maker.
 * @throws where a file is missing from the build
 */
export function createConsole({ refuse, ...options }: ConsoleOptions): Route[] {
  const importMap = JSON.stringify({ imports });
  const script = `<script type="importmap">${importMap}</script>`;
  const html = read(own('assets/console.html')).replace('{{importMap}}', script);
  const styles = [resolve('simpledotcss'), beside('uplot', 'uPlot.min.css'), own('assets/console.css')]
    .map(read)
    .join('');
  const headers = { 'Content-Security-Policy': pagePolicy(importMap), 'Referrer-Policy': 'no-referrer' };
  const state = shareResult(readState(options), STATE_AGE_MS_MAX);
  const query = options.services.find(({ name }) => name === 'query')?.url;
  const answer = (path: string, reply: (request: ApiRequest) => Promise<Reply>): Route => ({
    method: 'GET',
    path: `${PATH}/${path}`,
    handle: async (request) => refuse(request) ?? reply(request),
  });
  return [
    document(PATH, html, 'text/html', headers),
    document(`${PATH}/style.css`, styles, 'text/css'),
    // Express takes the + of its name for a pattern.
    document(imports['sorted-btree'], asModule(read(resolve('sorted-btree'))), 'text/javascript'),
    ...folders.flatMap(([folder, modules]) =>
      modules.map((name) => document(`${PATH}/${name}`, read(join(folder, name)), 'text/javascript')),
    ),
    answer('state', state),
    answer('{kind}/{id}', ({ params: { kind = '', id = '' } }) => askQuery(query, `${kind}/${encodeURIComponent(id)}`)),
  ];
}

/** What query tells operators. */
async function askQuery(url: string | undefined, path: string): Promise<Reply> {
  const noStore = { 'Cache-Control': 'no-store' };
  const asked = fetch(`${url}/${path}`, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
  const read = asked.then((answer) => answer.json() as Promise<object>);
  const told = await read.catch(() => unavailable('query does not answer'));
  return isRefusal(told) ? { code: told.code, detail: told.detail } : okJson(JSON.stringify(told), noStore);
}

function readState({ services, nowMs, links, ...shown }: Omit<ConsoleOptions, 'refuse'>) {
  let kept: readonly Reading[] = [];
  const hasHistory = services.some(({ name }) => name === 'query');
  return async () => {
    const told = await Promise.all(services.map(({ name, url }) => readMetrics(name, url)));
    const reading = { atMs: nowMs(), told };
    kept = kept.filter(({ atMs }) => atMs >= reading.atMs - READING_AGE_MS_MAX);
    if ((kept.at(-1)?.atMs ?? 0) <= reading.atMs - READING_GAP_MS) kept = [...kept, reading];
    const described = describeState(kept[0] ?? reading, reading, shown.staleSecondsMax);
    const state: ConsoleState = { ...shown, ...described, hasHistory, links: Object.fromEntries(links) };
    return okJson(JSON.stringify(state), { 'Cache-Control': 'no-store' });
  };
}

/** A module of CommonJS that needs no other, as one of ECMAScript. */
function asModule(text: string): string {
  return `const module = { exports: {} };\n(function (module, exports) {\n${text}\n})(module, module.exports);\nexport default module.exports;\n`;
}

function document(path: string, text: string, type: string, headers: Readonly<Record<string, string>> = {}): Route {
  const reply = {
    // A buffer, so that it is packed once for all requests.
    body: Buffer.from(text),
    contentType: `${type}; charset=utf-8`,
    headers: { 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff', ...headers },
  };
  return { method: 'GET', path, handle: async () => reply };
}
