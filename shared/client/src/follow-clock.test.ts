import { describe, expect, test } from '@jest/globals';
import { paths } from '@makerbook/contracts-http/paths';
import { createClient, type MakerbookClient } from './create-client.js';
import { answer, CONTRACT, fakeService, refuse } from './testing/fake-service.js';

const START_MS = 1_700_000_000_000;
const token = `0x${'ab'.repeat(20)}`;
const orderHash = `0x${'4e'.repeat(32)}`;

const options = {
  baseUrl: 'http://x',
  signer: `0x${'07'.repeat(32)}`,
  serviceName: 'Test',
  chainId: 8217,
  limitOrderProtocol: CONTRACT,
};

/** Opens a client whose clock is this far ahead of the service. */
function open(aheadMs: number) {
  let [serverMs, localMs] = [START_MS, START_MS + aheadMs];
  const service = fakeService(
    () => serverMs,
    ({ path, headers }) => {
      if (path !== paths.stream) return answer(path === paths.limitOrders ? [] : {});
      if (headers.has('Last-Event-ID')) return refuse('not_found');
      return answer(`id: 7\nevent: snapshot\ndata: {"orders":[],"version":"7"}\n\n`);
    },
  );
  const client = createClient({ ...options, now: () => localMs, fetch: service.fetch });
  const pass = (ms: number) => {
    serverMs += ms;
    localMs += ms;
  };
  const step = (ms: number) => {
    localMs += ms;
  };
  const skew = (ms: number) => {
    serverMs += ms;
  };
  return { client, ...service, pass, step, skew };
}

const calls: readonly [string, (client: MakerbookClient) => Promise<unknown>][] = [
  ['list', (client) => client.listOrders()],
  ['account', (client) => client.readAccount()],
  ['find', (client) => client.findOrder(orderHash)],
  ['history', (client) => client.readHistory()],
  ['stream', (client) => client.streamOrders().next()],
  ['heartbeat', async (client) => client.sendHeartbeat(Math.floor((await client.serverTimeMs()) / 1000) + 5)],
  ['keys', (client) => client.nameCancelKeys([])],
  ['cap', (client) => client.setFillCap({ token, amount: 1n, windowSeconds: 60 })],
  ['cancel-all', (client) => client.cancelAll()],
];

describe.each([
  ['20 s ahead', 20_000],
  ['60 s behind', -60_000],
  ['a day behind', -86_400_000],
  ['right', 0],
])('with a clock that is %s', (_what, aheadMs) => {
  test.each(calls)('%s is signed by the service’s clock', async (_name, call) => {
    const { client, asked } = open(aheadMs);
    await call(client);
    await call(client);
    // The first call also asks for the time.
    expect(asked.map(({ path }) => path === paths.info)).toEqual([true, false, false]);
  });
});

test('a service that does not tell its time is asked once, and requests are signed by the local clock', async () => {
  const asked: string[] = [];
  const client = createClient({
    ...options,
    now: () => START_MS,
    fetch: async (input) => {
      asked.push(String(input).split('?')[0] ?? '');
      return answer([]);
    },
  });
  await client.listOrders();
  await client.listOrders();
  expect(asked).toHaveLength(3);
  expect(await client.serverTimeMs()).toBe(START_MS);
});

test('while query is down, a cancel-all is signed by the time that ingress tells', async () => {
  const service = fakeService(
    () => START_MS,
    () => answer({}),
  );
  const fetch: typeof globalThis.fetch = async (input, init) =>
    String(input).endsWith(paths.info) ? new Response('<html>', { status: 503 }) : service.fetch(input, init);
  const client = createClient({ ...options, now: () => START_MS - 90_000, fetch });
  await client.cancelAll();
  const asked = service.asked.map(({ method, body }) => [method, (body as { untilMs: number } | undefined)?.untilMs]);
  expect(asked).toEqual([
    ['OPTIONS', undefined],
    ['POST', START_MS],
  ]);
});

test('concurrent calls ask for the time once', async () => {
  const { client, asked } = open(20_000);
  await Promise.all(calls.map(([, call]) => call(client)));
  expect(asked.filter(({ path }) => path === paths.info)).toHaveLength(1);
});

test.each(calls.slice(0, 4))('%s recovers by itself after the local clock is changed', async (_name, call) => {
  const { client, asked, step, pass } = open(0);
  await call(client);
  step(-90_000);
  pass(1_000);
  await call(client);
  // Info, the first call, the refused call, and its repeat.
  expect(asked).toHaveLength(4);
});

test.each(calls.slice(0, 4))('%s is signed again once if the network has sent it twice', async (_name, call) => {
  let refusals = 1;
  const { fetch, asked } = fakeService(
    () => START_MS,
    ({ path }) => {
      refusals -= 1;
      return refusals >= 0 ? refuse('request_replayed') : answer(path === paths.limitOrders ? [] : {});
    },
  );
  const client = createClient({ ...options, now: () => START_MS, fetch });
  await call(client);
  refusals = 2;
  await expect(call(client)).rejects.toMatchObject({ code: 'request_replayed' });
  // Skip the request that asks for the time.
  expect(new Set(asked.slice(1).map(({ query }) => query.get('salt'))).size).toBe(4);
});

test('an instance whose clock is wrong is believed until the next one answers', async () => {
  const { client, skew } = open(0);
  await client.listOrders();
  for (const ms of [3_600_000, -3_600_000]) {
    skew(ms);
    await client.listOrders();
  }
  expect(await client.serverTimeMs()).toBe(START_MS);
});

test('the wrong clock of one instance does not spoil later messages', async () => {
  const { client, skew } = open(0);
  skew(3_600_000);
  await client.nameCancelKeys([]);
  skew(-3_600_000);
  await client.listOrders();
  for (const [name, call] of calls) expect([name, await call(client)]).toEqual([name, expect.anything()]);
});

test('each message about all orders is newer than the one before', async () => {
  const { client, asked } = open(0);
  for (let n = 0; n < 3; n += 1) await client.nameCancelKeys([]);
  const times = asked.slice(1).map(({ body }) => (body as { issuedAtMs: number }).issuedAtMs);
  expect(times).toEqual([START_MS, START_MS + 1, START_MS + 2]);
});
