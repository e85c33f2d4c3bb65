import { expect, test } from '@jest/globals';
import { createClient } from './create-client.js';
import type { OrderEvent, StreamOptions } from './stream-orders.js';
import { CONTRACT, refuse } from './testing/fake-service.js';

type Part = readonly [event: string, data: object, id?: string];
const textOf = ([event, data, id]: Part) =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
const sent = (...parts: readonly Part[]) => new Response(`:\n\n${parts.map(textOf).join('')}`);
const snapshot = (id: string): Part => ['snapshot', { orders: [], version: id }, id];
const change = (id: string): Part => ['change', { happened: 'OPENED' }, id];
const clock: Part = ['clock', { position: '0:9', block: null }];
const end = (reason: string): Part => ['end', { reason }];

/** Follows the stream until so many events have come. Each request gets the next one of the answers. */
async function follow(events: number, answers: readonly Response[], options: StreamOptions = {}) {
  const asked: { readonly lastId: string | null; readonly atMs: number }[] = [];
  const stopping = new AbortController();
  const client = createClient({
    baseUrl: 'http://x',
    signer: `0x${'07'.repeat(32)}`,
    serviceName: 'Test',
    chainId: 8217,
    limitOrderProtocol: CONTRACT,
    fetch: async (input, init) => {
      if (!String(input).includes('/stream?')) return new Response('{}');
      asked.push({ lastId: new Headers(init?.headers).get('last-event-id'), atMs: performance.now() });
      return answers[asked.length - 1] ?? new Promise(() => undefined);
    },
  });
  const came: OrderEvent[] = [];
  for await (const event of client.streamOrders({ signal: stopping.signal, ...options })) {
    if (came.push(event) === events) break;
  }
  return { asked, came, lastIds: asked.map(({ lastId }) => lastId) };
}

test('after `gone` no id is sent, and a snapshot comes', async () => {
  const { came, lastIds } = await follow(2, [sent(snapshot('5'), end('gone')), sent(snapshot('90'))]);
  expect(came.map(({ event, id }) => [event, id])).toEqual([
    ['snapshot', '5'],
    ['snapshot', '90'],
  ]);
  expect(lastIds).toEqual([null, null]);
});

test('if the id that a bot kept is refused as gone, a snapshot comes too', async () => {
  const { came, lastIds } = await follow(1, [refuse('gone'), sent(snapshot('90'))], { lastEventId: '5' });
  expect(came).toMatchObject([{ event: 'snapshot', id: '90' }]);
  expect(lastIds).toEqual(['5', null]);
});

test.each(['slow', 'stopping'])('after `%s` the stream resumes behind the last snapshot or change', async (reason) => {
  const answers = [sent(snapshot('5'), change('6'), clock, end(reason)), sent(change('7'))];
  const { came, lastIds } = await follow(4, answers);
  expect(came.map(({ event }) => event)).toEqual(['snapshot', 'change', 'clock', 'change']);
  expect(lastIds).toEqual([null, '6']);
});

test('a cut-off event is not delivered, and comes with the next connection', async () => {
  const cut = new Response(textOf(snapshot('5')) + textOf(change('6')).slice(0, -9));
  const { came, lastIds } = await follow(2, [cut, sent(change('6'))]);
  expect(came.map(({ id }) => id)).toEqual(['5', '6']);
  expect(lastIds).toEqual([null, '5']);
});

test.each([
  ['rate_limited', { 'Retry-After': '1' }, 1_000],
  ['unavailable', { 'Retry-After': '1' }, 1_000],
  ['unavailable', {}, 500],
] as const)('after %s with %j the stream waits %i ms', async (code, headers, ms) => {
  const { asked } = await follow(1, [refuse(code, headers), sent(snapshot('5'))]);
  expect((asked[1]?.atMs ?? 0) - (asked[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(ms - 1);
});

test('a final refusal ends the stream', async () => {
  await expect(follow(1, [refuse('maker_not_whitelisted')])).rejects.toMatchObject({ code: 'maker_not_whitelisted' });
});

test.each(['', '5\n', 'é', 5])('%j is refused as the id of an event', async (id) => {
  await expect(follow(1, [], { lastEventId: id as never })).rejects.toThrow('lastEventId must be the id of an event');
});
