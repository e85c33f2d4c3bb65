import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { examples, operations } from '@makerbook/contracts-http';
import { type ApiRequest, serveDocument, toWire } from '@makerbook/http';
import type { Section } from './browser/page.js';
import { createDocuments } from './create-documents.js';

const { serverTime: _, block: __, ...info } = examples.info;
const deployment = { info: { ...info, serviceName: 'A & <B>' }, bookTopic: 'x.limit-orders.book.v1', partitions: 8 };
const documents = createDocuments(deployment);
const bodyOf = (path: string) => documents.find((document) => document.path === path)?.body.toString() ?? '';
const pages = documents.filter(({ contentType }) => contentType.startsWith('text/html'));
const [start = '', endpoints, routers] = ['', '/endpoints', '/routers'].map((path) => bodyOf(`/docs${path}`));
const idsOf = (page: string) => new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
const textOf = (html = '') => html.replace(/<[^>]+>/g, '');

test('an unknown path below /docs is 404: a page with the contents for browsers, a problem for programs', async () => {
  const absent = documents.find(({ status }) => status === 404);
  if (absent === undefined) throw new Error('there is no such page');
  const { path, handle } = serveDocument(absent);
  expect(path).toBe('/docs/{page}');
  const answerTo = (accept: string) => handle({ headers: { accept } } as ApiRequest);
  expect(toWire(await answerTo('text/html,*/*'), 'x')).toMatchObject({
    status: 404,
    contentType: 'text/html; charset=utf-8',
  });
  expect(absent.body.toString()).toContain('There is no such page');
  expect(absent.body.toString()).toContain('href="/docs/endpoints"');
  expect(await answerTo('*/*')).toMatchObject({ code: 'not_found' });
});

describe('the pages', () => {
  test.each(Object.values(operations))(
    'describe $method $path below its summary, with each of its errors',
    ({ method, path, summary, errors }) => {
      const title = `${summary.replaceAll("'", '&#39;')}\n${method} ${path}\n`;
      const section = endpoints?.split(/(?=<h2 )/).find((part) => textOf(part).startsWith(title)) ?? '';
      const listed = section.split(/<h3 id="errors-of/)[1] ?? '';
      for (const code of Object.keys(errors)) expect(listed).toContain(`<code>${code}</code>`);
    },
  );

  test('have this deployment’s own values, escaped', () => {
    expect(start).toContain('A &amp; &lt;B&gt; limit orders</h1>');
    expect(start).toContain(info.contracts.limitOrderProtocol);
    const table = start.indexOf(info.tokens[0]?.address ?? 'none');
    expect(table).toBeGreaterThan(0);
    expect(table).toBeLessThan(start.indexOf('node order.mjs'));
    expect(routers).toContain('x.limit-orders.book.v1');
    expect(endpoints).toContain('ordersPerPost');
    for (const { body } of pages) expect(body.toString()).not.toMatch(/\{\{|undefined|\[object|NaN|<B>/);
  });

  test.each(pages)('have no broken links: $path', ({ path, body }) => {
    const page = body.toString();
    const links = [...page.matchAll(/href="([^"]+)"/g)].map(([, href = '']) => new URL(href, `http://here${path}`));
    const own = links.filter(({ host }) => host === 'here');
    expect(page).toMatch(/<noscript>.*BASE_URL/);
    expect(own.length).toBeGreaterThan(5);
    const broken = own.filter(({ pathname, hash }) => {
      if (/^\/v0/.test(pathname)) return false;
      const target = bodyOf(decodeURIComponent(pathname));
      return target === '' || (hash !== '' && !idsOf(target).has(hash.slice(1)));
    });
    expect(broken.map(String)).toEqual([]);
  });
});

test('asyncapi.json has the topics and partitions of this deployment', () => {
  const { channels } = JSON.parse(bodyOf('/asyncapi.json'));
  expect(channels.book).toMatchObject({
    address: 'x.limit-orders.book.v1',
    bindings: { kafka: { topic: 'x.limit-orders.book.v1', partitions: 8, bindingVersion: '0.5.0' } },
  });
  expect(channels.parked).toMatchObject({
    address: 'x.limit-orders.parked.v1',
    bindings: { kafka: { partitions: 8 } },
  });
});

test('the search finds sections by word, and each of them exists', () => {
  const sections = JSON.parse(bodyOf('/docs/search.json')) as Section[];
  const found = (word: string) => sections.filter(({ text }) => text.includes(word)).map(({ path }) => path);
  expect(found('isolation.level')).toContain('/docs/routers#reading-the-book');
  expect(found('request_replayed')).toContain('/docs/endpoints#errors-of-get-v0alphalimit-orders');
  for (const { path } of sections) {
    const [page = '', id = ''] = path.split('#');
    expect([path, idsOf(bodyOf(page)).has(id)]).toEqual([path, true]);
  }
});

describe('what the pages load', () => {
  test('is served here, and so are the modules that it imports', () => {
    const map = JSON.parse(/<script type="importmap">(.*?)<\/script>/.exec(start)?.[1] ?? '') as {
      imports: Record<string, string>;
    };
    const loaded = pages.flatMap(({ body }) =>
      [...body.toString().matchAll(/(?:src|rel="stylesheet" href)="([^"]+)"/g)].map(([, path = '']) => path),
    );
    const own = ['page.js', 'panel.js'].map((name) => `/docs/lib/docs/${name}`);
    expect([...new Set(loaded)]).toEqual(['/docs/style.css', ...own]);
    const seen = new Set<string>();
    for (const path of loaded) follow(path);
    function follow(path: string): void {
      if (seen.has(path)) return;
      seen.add(path);
      expect([path, bodyOf(path) !== '']).toEqual([path, true]);
      for (const [, name = ''] of bodyOf(path).matchAll(/^(?:import|export)\b[^;'"]*?from\s*["']([^"']+)["']/gm)) {
        const mapped = name.startsWith('.') ? new URL(name, `http://x${path}`).pathname : map.imports[name];
        follow(mapped ?? `${name}, which is not in the import map`);
      }
    }
    const scripts = documents.filter(({ contentType }) => contentType.startsWith('text/javascript'));
    expect(scripts.map(({ path }) => path).filter((path) => !seen.has(path))).toEqual([]);
  });

  test.each(pages)('never comes from another host, which the policy forbids: $path', ({ body, headers }) => {
    const page = body.toString();
    const policy = headers['Content-Security-Policy'] ?? '';
    expect(policy).toMatch(/^default-src 'none'; /);
    expect(policy).not.toMatch(/https?:|unsafe|\*/);
    const inline = [...page.matchAll(/<script type="importmap">(.*?)<\/script>/g)].map(([, text = '']) => text);
    for (const text of inline) {
      expect(policy).toContain(`'sha256-${createHash('sha256').update(text).digest('base64')}'`);
    }
    expect(page).not.toMatch(/<style| style="| on[a-z]+="/);
    expect([...page.matchAll(/(?:src|action|<link[^>]* href)="(https?:[^"]*)"/g)]).toEqual([]);
    expect(bodyOf('/docs/style.css')).not.toMatch(/url\(|@import/);
  });
});
