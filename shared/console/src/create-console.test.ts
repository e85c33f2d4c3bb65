import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { type ApiRequest, isRefusal, type Success } from '@makerbook/http';
import { createConsole } from './create-console.js';

const options = { services: [], tokens: [], runbooks: '', staleSecondsMax: 5, nowMs: () => 1, refuse: () => undefined };
const routes = createConsole(options);
const pathOf = new Map(routes.map((route) => [route.path, route]));
const request = {} as ApiRequest;

async function answerOf(path: string): Promise<Success> {
  const reply = await pathOf.get(path)?.handle(request);
  if (reply === undefined || isRefusal(reply)) throw new Error(`nothing is served at ${path}`);
  return reply;
}
const textOf = async (path: string) => String((await answerOf(path)).body);

test('each module that the page loads is served, and nothing else', async () => {
  const page = await textOf('/console');
  const { imports } = JSON.parse(/<script type="importmap">(.*?)<\/script>/.exec(page)?.[1] ?? '') as {
    imports: Record<string, string>;
  };
  const seen = new Set<string>();
  const follow = async (path: string): Promise<void> => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const [, name = ''] of (await textOf(path)).matchAll(/^(?:import|export)\b[^;'"]*?from\s*["']([^"']+)["']/gm))
      await follow(name.startsWith('.') ? new URL(name, `http://x${path}`).pathname : (imports[name] ?? name));
  };
  const loaded = [...page.matchAll(/(?:src|rel="stylesheet" href)="([^"]+)"/g)].map(([, path = '']) => path);
  for (const path of loaded) await follow(path);
  // The module of types is empty.
  const unseen = ['/console', '/console/browser/state.js', '/console/state'];
  expect([...pathOf.keys()].filter((path) => !seen.has(path)).sort()).toEqual(unseen);
});

test('a script of CommonJS is served as a module that works', async () => {
  const text = await textOf('/console/lib/sorted-btree.js');
  const { default: module } = await import(`data:text/javascript,${encodeURIComponent(text)}`);
  expect(
    new module.default([
      [2, 'b'],
      [1, 'a'],
    ]).toArray(),
  ).toEqual([
    [1, 'a'],
    [2, 'b'],
  ]);
});

test('nothing inline runs but the import map, and nothing comes from elsewhere', async () => {
  const { headers } = await answerOf('/console');
  const policy = headers?.['Content-Security-Policy'] ?? '';
  expect(policy).toMatch(/^default-src 'none'; /);
  expect(policy).not.toMatch(/https?:|unsafe|\*/);
  const page = await textOf('/console');
  expect(page).not.toMatch(/<style| style="| on[a-z]+="|(src|href)="https?:/);
  expect(await textOf('/console/style.css')).not.toMatch(/url\(|@import/);
});

test('the page has each element that its scripts look for', async () => {
  const ids = new Set([...(await textOf('/console')).matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  const scripts = [...pathOf.keys()].filter((path) => path.startsWith('/console/browser/'));
  for (const script of scripts) {
    for (const [, id] of (await textOf(script)).matchAll(/\b(?:find|say|fillRows|addCopyButton)\(\s*'([^']+)'/g))
      expect([script, id, ids.has(id)]).toEqual([script, id, true]);
  }
  const state = JSON.parse(await textOf('/console/state')) as { tables: object; texts: object };
  for (const id of [...Object.keys(state.tables), ...Object.keys(state.texts)])
    expect([id, ids.has(id)]).toEqual([id, true]);
});

test('the state is for readers of the book alone, and made once for all of them', async () => {
  const state = () => pathOf.get('/console/state')?.handle(request);
  expect(await state()).toBe(await state());
  const refuse = () => ({ code: 'unauthorized', detail: 'no key' }) as const;
  const refusing = createConsole({ ...options, refuse }).find(({ path }) => path === '/console/state');
  expect(await refusing?.handle(request)).toMatchObject({ code: 'unauthorized' });
});

test('each alert that it names has a section in the runbook', () => {
  const source = readFileSync(new URL('./describe-state.js', import.meta.url), 'utf8');
  const runbook = readFileSync(new URL('../../../deploy/runbooks/alerts.md', import.meta.url), 'utf8');
  const sections = [...runbook.matchAll(/^## (\w+)$/gm)].map(([, section]) => section);
  const facts = ['BlockProcessed', 'OrderCancelled'];
  const named = [...source.matchAll(/'((?:[A-Z][a-z]+){2,})'/g)].flatMap(([, name = '']) =>
    facts.includes(name) ? [] : [name],
  );
  expect(named.length).toBeGreaterThan(12);
  expect(named.filter((name) => !sections.includes(name))).toEqual([]);
});
