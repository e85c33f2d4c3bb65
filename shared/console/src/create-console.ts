import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type ApiRequest, okJson, pagePolicy, type Refusal, type Route, shareResult } from '@makerbook/http';
import type { ConsoleState } from './browser/state.js';
import { describeState, type Reading } from './describe-state.js';
import { readMetrics } from './read-metrics.js';

export interface ConsoleOptions extends Pick<ConsoleState, 'tokens' | 'staleSecondsMax' | 'runbooks'> {
  /** The processes, each with the address of its ops port. */
  readonly services: readonly { readonly name: string; readonly url: string }[];
  /** Refuses who may not read the book: the state is for the others alone. */
  readonly refuse: (request: ApiRequest) => Refusal | undefined;
  readonly nowMs: () => number;
}

const PATH = '/console';
const STATE_AGE_MS_MAX = 2_000;
/** Rates and durations are those since the oldest reading that is kept. */
const READING_AGE_MS_MAX = 60_000;
/** Between readings that are kept: each holds all samples of all processes. */
const READING_GAP_MS = 20_000;

const { resolve } = createRequire(import.meta.url);
const own = (path: string) => join(import.meta.dirname, '..', path);
const read = (path: string) => readFileSync(path, 'utf8');
const bookFolder = dirname(resolve('@makerbook/book'));

/** The modules that the page loads, by the names that they import. */
const imports: Readonly<Record<string, readonly [path: string, file: string]>> = {
  '@makerbook/book/browser': [`${PATH}/lib/book/browser.js`, join(bookFolder, 'browser.js')],
  '@makerbook/contracts-primitives': [`${PATH}/lib/primitives.js`, resolve('@makerbook/contracts-primitives')],
  'sorted-btree': [`${PATH}/lib/sorted-btree.js`, resolve('sorted-btree')],
  uplot: [`${PATH}/lib/uplot.js`, join(dirname(resolve('uplot')), 'uPlot.esm.js')],
};
/** And those that these import beside them. */
const besides: readonly (readonly [path: string, file: string])[] = [
  ...['quote-orders', 'rank-orders', 'read-over-http', 'read-recording'].map(
    (name) => [`lib/book/${name}.js`, join(bookFolder, `${name}.js`)] as const,
  ),
  ...readdirSync(own('dist/browser'))
    .filter((name) => name.endsWith('.js'))
    .map((name) => [`browser/${name}`, own(`dist/browser/${name}`)] as const),
];

const importMap = JSON.stringify({
  imports: Object.fromEntries(Object.entries(imports).map(([name, [path]]) => [name, path])),
});

/**
 * The console: the page with all that it loads, and GET /console/state. Nothing comes from elsewhere. The processes are asked
 * every two seconds at most, however many pages are open.
 * @throws where a file is missing from the build
 */
export function createConsole({ refuse, ...options }: ConsoleOptions): Route[] {
  const script = `<script type="importmap">${importMap}</script>`;
  const html = read(own('assets/console.html')).replace('{{importMap}}', script);
  const styles = read(join(dirname(resolve('uplot')), 'uPlot.min.css')) + read(own('assets/console.css'));
  const headers = { 'Content-Security-Policy': pagePolicy(importMap), 'Referrer-Policy': 'no-referrer' };
  const state = shareResult(readState(options), STATE_AGE_MS_MAX);
  return [
    document(PATH, html, 'text/html', headers),
    document(`${PATH}/style.css`, styles, 'text/css'),
    ...Object.values(imports).map(([path, file]) => document(path, asModule(read(file)), 'text/javascript')),
    ...besides.map(([path, file]) => document(`${PATH}/${path}`, read(file), 'text/javascript')),
    { method: 'GET', path: `${PATH}/state`, handle: async (request) => refuse(request) ?? state() },
  ];
}

function readState({ services, nowMs, ...shown }: Omit<ConsoleOptions, 'refuse'>) {
  let kept: readonly Reading[] = [];
  return async () => {
    const told = await Promise.all(services.map(({ name, url }) => readMetrics(name, url)));
    const reading = { atMs: nowMs(), told };
    kept = kept.filter(({ atMs }) => atMs >= reading.atMs - READING_AGE_MS_MAX);
    if ((kept.at(-1)?.atMs ?? 0) <= reading.atMs - READING_GAP_MS) kept = [...kept, reading];
    const state = { ...shown, ...describeState(kept[0] ?? reading, reading, shown.staleSecondsMax) };
    return okJson(JSON.stringify(state satisfies ConsoleState), { 'Cache-Control': 'no-store' });
  };
}

/** A module of CommonJS that needs no other as one of ECMAScript; others as they are. */
function asModule(text: string): string {
  if (!text.includes('"__esModule"')) return text;
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
