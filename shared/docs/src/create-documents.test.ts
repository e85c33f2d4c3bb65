import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { bookCause, bookEntry as bookEntrySchema, bookRemovalReason } from '@makerbook/contracts-events';
import { examples, operations, problemKinds } from '@makerbook/contracts-http';
import { Interface } from 'ethers';
import { createDocuments } from './create-documents.js';
import { bookEntry } from './render-page.js';

const { serverTime: _, block: __, ...info } = examples.info;
const deployment = { info: { ...info, serviceName: 'A & <B>' }, bookTopic: 'x.limit-orders.book.v1', partitions: 8 };
const documents = createDocuments(deployment);
const bodyOf = (path: string) => documents.find((document) => document.path === path)?.body.toString() ?? '';
const page = bodyOf('/docs');

describe('the page', () => {
  test.each(Object.entries(operations))('describes %s, with each of its errors', (id, { method, path, errors }) => {
    const section = page.split(`<section class="operation" id="${id}">`)[1]?.split('</section>')[0] ?? '';
    expect(section).toContain(`${method}</span> <code>${path}</code>`);
    for (const code of Object.keys(errors)) expect(section).toContain(`href="#error-${code}"`);
    expect(page).toContain(`<a href="#${id}">`);
  });

  test.each(Object.keys(problemKinds))('has %s in its table of errors', (code) => {
    expect(page).toContain(`id="error-${code}"`);
  });

  test('has this deployment’s own values, escaped', () => {
    expect(page).toContain('<h1>A &#38; &#60;B&#62; limit orders</h1>');
    for (const value of [info.contracts.limitOrderProtocol, 'x.limit-orders.book.v1', 'ordersPerPost'])
      expect(page).toContain(value);
    expect(page).not.toMatch(/\{\{|undefined|\[object|NaN/);
  });

  test('links to places that it has', () => {
    const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
    const links = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    expect(links.length).toBeGreaterThan(50);
    expect(links.filter((id) => !ids.has(id))).toEqual([]);
  });

  test('has the router’s guide, with every reason and cause of the feed', () => {
    const guide = page.split('<section id="router">')[1]?.split('</section>')[0] ?? '';
    for (const name of [...bookRemovalReason.options, ...bookCause.options])
      expect(guide).toContain(`<code>${name}</code>`);
    expect(guide).toContain('<h3 id="router-two-orders-one-balance">');
    expect(guide).not.toMatch(/\]\(|\*\*\S|```/);
    expect([...guide.matchAll(/href="(\/[^"]*)"/g)].map(([, path = '']) => [path, bodyOf(path) !== ''])).toEqual([
      ['/asyncapi.json', true],
    ]);
  });

  test('has the ABI of the contract, whole, to read and as JSON', () => {
    const [, code = ''] = /<section id="contract">.*?<pre><code>(.*?)<\/code>/s.exec(page) ?? [];
    const read = Interface.from(code.split('\n').filter((line) => line !== ''));
    const whole = Interface.from(bodyOf('/docs/limit-order-protocol.json'));
    const described = ({ fragments }: Interface) =>
      fragments
        .filter(({ type }) => type !== 'constructor')
        .map((fragment) => fragment.format('full'))
        .sort();
    expect(described(read)).toEqual(described(whole));
    for (const name of ['nonce', 'cancelOrder', 'cancelAllOrders', 'fillOrder'])
      expect(whole.getFunction(name)).not.toBeNull();
  });

  test('shows a record of the feed that is one', () => {
    expect(bookEntrySchema.safeParse({ type: 'BookEntry', ...bookEntry }).error).toBeUndefined();
  });
});

describe('what the page loads', () => {
  test('is served here, each module with those that it imports', () => {
    const map = JSON.parse(/<script type="importmap">(.*?)<\/script>/.exec(page)?.[1] ?? '') as {
      imports: Record<string, string>;
    };
    const wanted = [...page.matchAll(/(?:src|rel="stylesheet" href)="([^"]+)"/g)].map(([, path]) => path);
    expect(wanted).toEqual(['/docs/style.css', '/docs/browser/page.js']);
    const seen = new Set<string>();
    for (const path of wanted as string[]) follow(path);
    function follow(path: string): void {
      if (seen.has(path)) return;
      seen.add(path);
      expect([path, bodyOf(path) !== '']).toEqual([path, true]);
      for (const [, name = ''] of bodyOf(path).matchAll(/^import\b[^;'"]*?from\s*["']([^"']+)["']/gm)) {
        const entry = Object.entries(map.imports).find(([prefix]) => name.startsWith(prefix));
        const mapped = entry === undefined ? undefined : entry[1] + name.slice(entry[0].length);
        follow(mapped ?? new URL(name, `http://x${path}`).pathname);
      }
    }
    expect(documents.map(({ path }) => path).filter((path) => path.startsWith('/docs/') && !seen.has(path))).toEqual([
      '/docs/limit-order-protocol.json',
    ]);
  });

  test('is nothing of another host: the policy lets nothing else in', () => {
    const policy = documents.find(({ path }) => path === '/docs')?.headers['Content-Security-Policy'] ?? '';
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

test('the root leads to the page', () => {
  expect(documents.find(({ path }) => path === '/')?.headers).toMatchObject({ Location: '/docs' });
});

test('the documents are JSON of their kinds', () => {
  expect(JSON.parse(bodyOf('/openapi.json'))).toHaveProperty('openapi');
  expect(JSON.parse(bodyOf('/asyncapi.json'))).toHaveProperty('asyncapi');
});
