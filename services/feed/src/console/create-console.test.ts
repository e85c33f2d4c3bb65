import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { type ApiRequest, isRefusal, type Refusal, type Success } from '@makerbook/http';
import { readSettings } from '@makerbook/settings';
import { feedSettings } from '../env.js';
import { createConsole } from './create-console.js';

const settings = readSettings(feedSettings, { KAFKA_BROKERS: 'none:1' });
const open = (given: Partial<typeof settings> = {}, refuse: () => Refusal | undefined = () => undefined) =>
  createConsole({ ...settings, ...given }, refuse, () => 1);
const routes = open();
const pathOf = new Map(routes.map((route) => [route.path, route]));
const request = { params: {} } as ApiRequest;
const unseen = ['/console/state', '/console/orders/{id}', '/console/makers/{id}'];

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
    for (const [, name = ''] of (await textOf(path)).matchAll(
      /(?:^|;)(?:import|export)\b[^;'"]*?from\s*["']([^"']+)["']/gm,
    ))
      await follow(
        name.startsWith('.')
          ? new URL(name, `http://x${path}`).pathname
          : (imports[name] ?? name.replace(/^[^/]+\//, (folder) => imports[folder] ?? folder)),
      );
  };
  const loaded = [...page.matchAll(/(?:src|rel="stylesheet" href)="([^"]+)"/g)].map(([, path = '']) => path);
  for (const path of loaded) await follow(path);
  // `state.js` has only types, so no module loads it.
  const rest = ['/console', ...unseen, '/console/lib/console/state.js'].sort();
  expect([...pathOf.keys()].filter((path) => !seen.has(path)).sort()).toEqual(rest);
});

test('a CommonJS script is served as a working module', async () => {
  const text = await textOf('/console/b-tree.js');
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

test('the page runs nothing inline but the import map, and loads nothing from elsewhere', async () => {
  const { headers } = await answerOf('/console');
  const policy = headers?.['Content-Security-Policy'] ?? '';
  expect(policy).toMatch(/^default-src 'none'; /);
  expect(policy).not.toMatch(/https?:|unsafe|\*/);
  const page = await textOf('/console');
  expect(page).not.toMatch(/<style| style="| on[a-z]+="|(src|href)="https?:/);
  expect(await textOf('/console/style.css')).not.toMatch(/url\(|@import/);
});

test('only readers of the book get what the console tells, and its state is made once for all of them', async () => {
  const state = () => pathOf.get('/console/state')?.handle(request);
  expect(await state()).toBe(await state());
  const refuse = () => ({ code: 'unauthorized', detail: 'no key' }) as const;
  const refusing = open({}, refuse).filter(({ path }) => unseen.includes(path));
  for (const { handle } of refusing) expect(await handle(request)).toMatchObject({ code: 'unauthorized' });
  expect(refusing).toHaveLength(unseen.length);
});

test('query is asked for an order or a maker’s orders with a salt, and its silence is reported', async () => {
  const server = createServer((asked, response) => response.end(JSON.stringify({ asked: asked.url })));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const asking = open({ CONSOLE_METRICS: [['query', url]] });
  const ask = async (id: string, kind = 'orders') =>
    asking.find(({ path }) => path === `/console/${kind}/{id}`)?.handle({ ...request, params: { id } });
  const hash = `0x${'1a'.repeat(32)}`;
  expect(await ask(hash)).toMatchObject({ body: `{"asked":"/orders/${hash}"}` });
  const salted = `0x${'1a'.repeat(20)}:0x7`;
  expect(await ask(salted, 'makers')).toMatchObject({ body: `{"asked":"/makers/${salted}"}` });
  expect(await ask(`${salted}/x`, 'makers')).toMatchObject({ code: 'invalid_request' });
  for (const id of [
    '../metrics',
    '..',
    '',
    `${hash}?a`,
    `0x${'1A'.repeat(32)}`,
    `0x${'1a'.repeat(20)}`,
    `${hash}/../../metrics`,
  ])
    expect([id, await ask(id)]).toEqual([id, expect.objectContaining({ code: 'invalid_request' })]);
  await new Promise((resolve) => server.close(resolve));
  expect(await ask(hash)).toMatchObject({
    code: 'unavailable',
    detail: 'query does not answer, or CONSOLE_METRICS does not name it',
  });
});
