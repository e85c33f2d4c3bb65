import { once } from 'node:events';
import { Agent, request, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { loadUntilRefused, until } from '@makerbook/parts';
import { silentLogger } from '@makerbook/telemetry';
import type { OpenServer } from './open-server.js';
import { type ApiRequest, okJson, okText, type Reply } from './reply.js';
import { type Api, type ApiSettings, type Route, serveApi } from './serve-api.js';

let api: OpenServer;
let base: string;
const large = Buffer.from(JSON.stringify(Array.from({ length: 5_000 }, (_, n) => n)));
const releases: (() => void)[] = [];
let handled = 0;
let arrivedAtMs = 0;

async function echo(request: ApiRequest): Promise<Reply> {
  handled += 1;
  arrivedAtMs = request.receivedAtMs;
  return okJson(JSON.stringify({ body: request.body ?? null, query: [...request.query], id: request.requestId }));
}

const settings = {
  HOST: '127.0.0.1',
  HOST_NAMES: [],
  PORT: 0,
  CONNECTIONS_PER_ADDRESS_MAX: 1000,
  CONCURRENT_REQUESTS_MAX: 50,
  CLIENT_REQUESTS_MAX: 100_000,
  CLIENT_WINDOW_SECONDS: 60,
  TRUSTED_PROXY_HOPS: 0,
  BODY_BYTES_MAX: 10_000,
  HEADER_BYTES_MAX: 65_536,
  REQUEST_TIMEOUT_MS: 60_000,
  DRAIN_MS: 60_000,
  CORS_ORIGINS: [],
};

/** A route that takes JSON, unless it is a GET. */
function route(method: Route['method'], path: string, handle: Route['handle']): Route {
  return { method, path, takesJson: method !== 'GET', handle };
}

function open(api: Partial<Api>, own: Partial<ApiSettings> = {}): Promise<OpenServer> {
  return serveApi({ ...settings, ...own }, { logger: silentLogger, methodsAt: {}, routes: [], ...api });
}

beforeAll(async () => {
  const proxied = {
    CLIENT_REQUESTS_MAX: 200,
    TRUSTED_PROXY_HOPS: 1,
    REQUEST_TIMEOUT_MS: 1500,
    DRAIN_MS: 100,
    CORS_ORIGINS: ['https://wallet.example'],
  };
  const slower: Reply = {
    code: 'rate_limited',
    detail: 'slower',
    index: 2,
    headers: { 'Retry-After': '7', RateLimit: '"maker";r=0;t=7' },
  };
  const routes = [
    route('POST', '/things', echo),
    route('GET', '/things', echo),
    route('PATCH', '/text', async () => okText('0x00')),
    route('GET', '/limited', async () => slower),
    route('GET', '/late', async () => okText('done', { 'X-Server-Time': String(Date.now() - 5_000) })),
    route('GET', '/ahead', async () => okText('done', { 'X-Server-Time': String(Date.now() + 60_000) })),
    { ...route('PATCH', '/guarded', async () => okText('done')), clientLimit: { name: 'patches', units: 3 } },
    {
      ...route('GET', '/costly', async ({ charge }) => {
        await charge(2);
        return okText('done');
      }),
      clientLimit: { name: 'costly', units: 4 },
    },
    route('GET', '/broken', () => Promise.reject(new Error('secret detail'))),
    route('GET', '/large', async () => okJson(large, { ETag: 'W/"1"' })),
    route('GET', '/slow', () => new Promise((resolve) => releases.push(() => resolve(okText('done'))))),
  ];
  const methodsAt: Api['methodsAt'] = { '/things': ['GET', 'POST', 'DELETE'], '/elsewhere': ['GET'] };
  api = await open({ routes, methodsAt }, proxied);
  base = `http://127.0.0.1:${api.port}`;
});

afterAll(() => api.stop());

const patchGuarded = (client: string, body: string) =>
  fetch(`${base}/guarded`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': client },
    body,
  });

async function expectProblem(response: Response, status: number, code: string): Promise<Record<string, unknown>> {
  const text = await response.text();
  expect(`${response.status} ${text}`).toContain(code);
  expect(response.status).toBe(status);
  expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  const problem = JSON.parse(text) as Record<string, unknown>;
  expect(problem).toMatchObject({ status, code, requestId: response.headers.get('x-request-id') });
  return problem;
}

/** Opens a connection, sends the text at once, and collects what is answered. */
function openRaw(text: string, { port } = api) {
  const socket = connect(port, '127.0.0.1', () => socket.write(text));
  const raw = { socket, answer: '', closed: new Promise<void>((resolve) => socket.on('close', () => resolve())) };
  socket.on('data', (chunk) => (raw.answer += chunk.toString()));
  // A server that has read enough may reset the connection after its answer.
  socket.on('error', () => undefined);
  return raw;
}

/** Sends the text. Resolves with everything that is answered until the connection is closed. */
async function ask(text: string, server = api): Promise<string> {
  const raw = openRaw(text, server);
  await raw.closed;
  return raw.answer;
}

const json = 'Host: a\r\nContent-Type: application/json';

describe('the HTTP server', () => {
  test('answers with the request id that came in, and makes one if that is not valid', async () => {
    const given = await fetch(`${base}/things?a=1&a=2`, { headers: { 'x-request-id': 'abc-1' } });
    expect(given.headers.get('x-request-id')).toBe('abc-1');
    const query = ['1', '2'].map((value) => ['a', value]);
    expect(await given.json()).toEqual({ body: null, query, id: 'abc-1' });
    const odd = await fetch(`${base}/things`, { headers: { 'x-request-id': 'a b' } });
    expect(odd.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('sends its time and how long it took with each answer', async () => {
    const sentAtMs = Date.now();
    for (const path of ['/things', '/limited', '/nowhere', '/late']) {
      const { headers } = await fetch(`${base}${path}`, { headers: { 'x-forwarded-for': '10.9.9.9' } });
      expect(Number(headers.get('x-server-time'))).toBeGreaterThanOrEqual(sentAtMs);
      const [, took] = /^app;dur=([0-9]+\.[0-9]{2})$/.exec(headers.get('server-timing') ?? '') ?? [];
      expect(Number(took)).toBeLessThanOrEqual(Date.now() - sentAtMs + 1);
    }
    const { headers } = await fetch(`${base}/ahead`);
    expect(Number(headers.get('x-server-time'))).toBeGreaterThanOrEqual(sentAtMs + 60_000);
  });

  test.each([
    ['br, gzip', 'br'],
    ['gzip, deflate', 'gzip'],
    ['gzip;q=1, br;q=0', 'gzip'],
    ['deflate', null],
    ['identity', null],
  ])('a large body is compressed as the request accepts: %s', async (accepted, encoding) => {
    const response = await fetch(`${base}/large`, { headers: { 'accept-encoding': accepted } });
    expect([response.headers.get('content-encoding'), response.headers.get('vary')]).toEqual([
      encoding,
      expect.stringContaining('Accept-Encoding'),
    ]);
    const length = Number(response.headers.get('content-length'));
    expect(length === large.length).toBe(encoding === null);
    expect(Buffer.from(await response.arrayBuffer()).equals(large)).toBe(true);
  });

  test('a small body is not compressed', async () => {
    const response = await fetch(`${base}/things`, { headers: { 'accept-encoding': 'br' } });
    expect([response.headers.get('content-encoding'), response.headers.get('vary')]).toEqual([null, 'Origin']);
  });

  test('a GET that names the ETag of its answer gets 304, without a body', async () => {
    const ask = (etag: string) => fetch(`${base}/large`, { headers: { 'if-none-match': etag } });
    const same = await ask('W/"0", W/"1"');
    expect([same.status, (await same.text()).length, same.headers.get('etag')]).toEqual([304, 0, 'W/"1"']);
    expect(same.headers.get('content-type')).toBeNull();
    const changed = await ask('W/"2"');
    expect([changed.status, (await changed.text()).length]).toEqual([200, large.length]);
  });

  test('no cache keeps a refusal', async () => {
    for (const path of ['/nothing', '/text']) {
      expect((await fetch(`${base}${path}`)).headers.get('cache-control')).toBe('no-store');
    }
  });

  test('a method that another service answers is 404: the gateway has misrouted it', async () => {
    const problem = await expectProblem(await fetch(`${base}/things`, { method: 'DELETE' }), 404, 'not_found');
    expect(problem['detail']).toMatch(/another service/);
    expect((await fetch(`${base}/elsewhere`)).status).toBe(404);
  });

  test('HEAD is answered like GET without the body, and counts as one request', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.30' };
    const [head, get] = [
      await fetch(`${base}/things?a=1`, { method: 'HEAD', headers: { ...headers, 'x-request-id': 'same' } }),
      await fetch(`${base}/things?a=1`, { headers: { ...headers, 'x-request-id': 'same' } }),
    ];
    expect([head.status, await head.text()]).toEqual([200, '']);
    for (const name of ['content-type', 'content-length', 'x-request-id']) {
      expect(head.headers.get(name)).toBe(get.headers.get(name));
    }
    expect(head.headers.get('ratelimit')).toMatch(/^"client"; r=199; t=\d+$/);
    expect(get.headers.get('ratelimit')).toMatch(/^"client"; r=198;/);
    const refused = await fetch(`${base}/text`, { method: 'HEAD', headers });
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'PATCH, OPTIONS']);
    expect(refused.headers.get('ratelimit')).toMatch(/^"client"; r=197;/);
  });

  test('a page of a listed origin may call and read the headers of the answer, and no other page may', async () => {
    const ask = (origin: string, method = 'OPTIONS') =>
      fetch(`${base}/things`, {
        method,
        headers: {
          origin,
          'access-control-request-method': 'DELETE',
          'access-control-request-headers': 'content-type,x-request-id',
        },
      });
    const preflight = await ask('https://wallet.example');
    expect(preflight.status).toBe(200);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      'access-control-allow-origin': 'https://wallet.example',
      'access-control-allow-methods': 'GET,HEAD,POST,DELETE,PATCH',
      'access-control-allow-headers': 'content-type,x-request-id',
      'access-control-max-age': '7200',
      vary: expect.stringContaining('Origin'),
    });
    for (const answer of [await ask('https://wallet.example', 'GET'), await ask('https://wallet.example', 'PUT')]) {
      expect(answer.headers.get('access-control-allow-origin')).toBe('https://wallet.example');
      expect(answer.headers.get('access-control-expose-headers')).toBe(
        'X-Request-Id,Retry-After,RateLimit,RateLimit-Policy,X-Read-Lag,X-Next-Cursor,X-List-Version,X-Cancel-All-At,X-Server-Time,Server-Timing,X-Log-Position,X-Receipt,X-Unseen-By,Preference-Applied,ETag',
      );
    }
    expect((await ask('https://other.example')).headers.get('access-control-allow-origin')).toBeNull();
  });

  test('a bug is 500 without details of the error', async () => {
    expect(JSON.stringify(await expectProblem(await fetch(`${base}/broken`), 500, 'internal'))).not.toContain('secret');
  });

  test('pipelined requests are handled one after the other', async () => {
    const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
    const before = handled;
    const answers = ask(`${get('/slow')}${get('/things')}GET /things HTTP/1.0\r\n\r\n`);
    await until(() => releases.length > 0);
    expect(handled).toBe(before);
    await pause(50);
    const answeredAtMs = performance.now();
    releases.pop()?.();
    expect((await answers).match(/HTTP\/1.1 200/g)).toHaveLength(3);
    expect(handled).toBe(before + 2);
    expect(arrivedAtMs).toBeLessThan(answeredAtMs);
    expect(await ask(get('/slow') + get('/things').repeat(100))).toBe('');
    expect(handled).toBe(before + 2);
  });

  test('a client that closes its side after its requests gets every answer whole', async () => {
    const raw = openRaw('GET /things HTTP/1.1\r\nHost: a\r\n\r\nGET /large HTTP/1.1\r\nHost: a\r\n\r\n');
    raw.socket.once('connect', () => raw.socket.end());
    await raw.closed;
    expect(raw.answer.match(/HTTP\/1.1 200/g)).toHaveLength(2);
    expect(raw.answer.endsWith(large.toString())).toBe(true);
  });

  test('a request gets exactly one answer, whatever follows it', async () => {
    const answered = await ask(`POST /things HTTP/1.1\r\n${json}\r\nContent-Length: 2\r\n\r\n[]\0\0\r\n\r\n`);
    expect(answered).toMatch(/^HTTP\/1.1 200/);
    expect(answered.match(/HTTP\/1.1/g)).toHaveLength(1);
    const halfRead = await ask(`POST /nothing HTTP/1.1\r\n${json}\r\nContent-Length: 2\r\n\r\n[`);
    expect(halfRead).toMatch(/^HTTP\/1.1 404/);
    expect(halfRead.match(/HTTP\/1.1/g)).toHaveLength(1);
  });

  test('a request after one that was answered before its body came is judged on its own', async () => {
    const raw = openRaw(`POST /nothing HTTP/1.1\r\n${json}\r\nContent-Length: 2\r\n\r\n`);
    await until(() => raw.answer.startsWith('HTTP/1.1 404'));
    raw.socket.write(`[]POST /things HTTP/1.1\r\n${json}\r\nContent-Length: 10\r\n\r\n[1`);
    await raw.closed;
    expect(raw.answer.split('HTTP/1.1 ').slice(1)).toEqual([
      expect.stringMatching(/^404/),
      expect.stringMatching(/^408[\s\S]*did not arrive in time/),
    ]);
  });

  describe('an unwanted body is read no further', () => {
    /** Sends a head and then an endless body. Counts how much of it the connection took until it was closed. */
    async function sendEndless(head: string): Promise<{ answer: string; megabytes: number }> {
      const chunk = Buffer.alloc(65_536, 0x20);
      const framed = Buffer.concat([Buffer.from('10000\r\n'), chunk, Buffer.from('\r\n')]);
      const isChunked = /chunked/.test(head);
      const raw = openRaw(head);
      const { socket } = raw;
      const pour = () => {
        while (!socket.destroyed && socket.write(isChunked ? framed : chunk));
      };
      socket.on('connect', pour);
      socket.on('drain', pour);
      await raw.closed;
      return { answer: raw.answer, megabytes: (socket.bytesWritten - socket.writableLength) / 1e6 };
    }

    test.each([
      ['too large', `POST /things HTTP/1.1\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n`, 413],
      ['declared too large', `POST /things HTTP/1.1\r\n${json}\r\nContent-Length: 1000000000000\r\n\r\n`, 413],
      [
        'packed',
        `POST /things HTTP/1.1\r\n${json}\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n`,
        415,
      ],
      ['of another type', 'POST /things HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n', 415],
      ['sent to nowhere', `POST /nothing HTTP/1.1\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n`, 404],
      ['of a GET', 'GET /things HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n', 200],
    ])('%s', async (_name, head, status) => {
      const { answer, megabytes } = await sendEndless(head);
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status}`));
      expect(answer).toMatch(/connection: close/i);
      // The system's own buffers take this much.
      expect(megabytes).toBeLessThan(30);
    });

    test('and a small one leaves its connection open', async () => {
      const raw = openRaw('');
      for (const count of [1, 2]) {
        raw.socket.write('POST /things HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n[]');
        await until(() => raw.answer.match(/HTTP\/1.1 415/g)?.length === count);
      }
      raw.socket.destroy();
    });
  });

  test('the limit of one route is counted for it alone, per client, before the body is read', async () => {
    const first = await patchGuarded('10.0.0.7', '{}');
    expect(first.headers.get('ratelimit')).toMatch(/^"patches"; r=2;/);
    expect(await first.text()).toBe('done');
    expect((await patchGuarded('10.0.0.7', 'no JSON')).status).toBe(400);
    expect((await patchGuarded('10.0.0.7', '{}')).status).toBe(200);
    const refused = await patchGuarded('10.0.0.7', 'no JSON');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    await expectProblem(refused, 429, 'rate_limited');
    expect((await patchGuarded('10.0.0.8', '{}')).status).toBe(200);
    expect((await fetch(`${base}/slow-not-there`, { headers: { 'x-forwarded-for': '10.0.0.7' } })).status).toBe(404);
  });

  test('what a route charges for its work counts against the client that asked', async () => {
    const ask = async (client: string) =>
      (await fetch(`${base}/costly`, { headers: { 'x-forwarded-for': client } })).status;
    expect([await ask('10.0.1.7'), await ask('10.0.1.7'), await ask('10.0.1.7')]).toEqual([200, 200, 429]);
    expect(await ask('10.0.1.8')).toBe(200);
  });

  test('a large request costs more than a small one, and one of unknown length as much as the largest', async () => {
    const client = { 'x-forwarded-for': '203.0.113.20', 'content-type': 'application/json' };
    const left = async (body: string | ReadableStream, query = '') => {
      const response = await fetch(`${base}/things${query}`, {
        method: 'POST',
        headers: client,
        body,
        ...(typeof body === 'string' ? {} : { duplex: 'half' }),
      } as RequestInit);
      await response.text();
      return Number(/r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1]);
    };
    expect(await left('[]')).toBe(199);
    expect(await left(`[${' '.repeat(9000)}]`)).toBe(197);
    expect(await left(`[${' '.repeat(2_000_000)}]`)).toBe(195);
    expect(await left('[]', `?a=${'x'.repeat(25_000)}`)).toBe(191);
    expect(await left(new Blob(['[]']).stream())).toBe(189);
  });

  test('a client above its limit gets 429 with Retry-After, and can still use a route with its own limit', async () => {
    const ofClient = { headers: { 'x-forwarded-for': '203.0.113.9' } };
    const all = await Promise.all(Array.from({ length: 210 }, () => fetch(`${base}/things`, ofClient)));
    const limited = all.filter(({ status }) => status === 429);
    expect(limited).toHaveLength(10);
    expect(Number(limited[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await fetch(`${base}/things`)).status).toBe(200);
    expect((await patchGuarded('203.0.113.9', '{}')).status).toBe(200);
  });
});

test('a connection without a request is closed silently, and one with a partial request gets 408', async () => {
  const patient = await open({}, { REQUEST_TIMEOUT_MS: 200 });
  const [silent, begun] = await Promise.all([ask('', patient), ask('GET / HTTP/1.1\r\nHost: a', patient)]);
  expect(silent).toBe('');
  expect(begun).toMatch(/^HTTP\/1.1 408 [\s\S]*"code":"request_timeout"[\s\S]*"retryable":true/);
  await patient.stop();
});

describe('the head of a request', () => {
  const get = (fields: string) => ask(`GET /things HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${fields}\r\n`);

  test.each([
    ['100 fields', 'X-A: b\r\n'.repeat(98), 200],
    ['101 fields', 'X-A: b\r\n'.repeat(99), 413],
    ['a value of 8 KiB', `Accept-Encoding: ${'a'.repeat(8_192)}\r\n`, 200],
    ['a value of one byte more', `Accept-Encoding: ${'a'.repeat(8_193)}\r\n`, 413],
    ['60 kB of addresses', `X-Forwarded-For: ${'1.1.1.1,'.repeat(7_500)}\r\n`, 413],
    ['a name of 9 kB', `${'a'.repeat(9_000)}: b\r\n`, 413],
  ])('with %s is accepted or refused by its size', async (_, fields, status) => {
    expect(await get(fields)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  test('costs one request more for each 8 KiB', async () => {
    const leftOf = (answer: string) => Number(/RateLimit: "client"; r=(\d+)/i.exec(answer)?.[1]);
    const client = 'X-Forwarded-For: 203.0.113.77\r\n';
    const before = leftOf(await get(client));
    expect(leftOf(await get(`${client}${`X-A: ${'b'.repeat(5_000)}\r\n`.repeat(4)}`))).toBe(before - 3);
  });
});

test('a server with host names answers only requests to these names', async () => {
  const named = await open(
    { routes: [route('GET', '/things', echo)] },
    { HOST_NAMES: ['Localhost', '127.0.0.1', '[::1]'], DRAIN_MS: 0 },
  );
  const statusBy = async (host: string) =>
    (await ask(`GET /things HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`, named)).slice(9, 12);
  expect(await Promise.all(['localhost:1', 'LocalHost', '127.0.0.1:80', '[::1]:80'].map(statusBy))).toEqual(
    Array(4).fill('200'),
  );
  for (const host of [
    'evil.example',
    'localhost.evil.example',
    '127.0.0.2',
    '127.0.0.1.evil.example',
    'evil.example:127.0.0.1',
    '[::1',
    '',
  ])
    expect([host, await statusBy(host)]).toEqual([host, '400']);
  await named.stop();
});

test('an idle connection stays open longer than the 60 s of proxies, and than a request may take', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = () =>
    new Promise<{ isReused: boolean; keepAlive: string }>((resolve, reject) => {
      const asked = request(`${base}/things`, { agent }, (response) => {
        response.resume();
        response.once('end', () =>
          resolve({ isReused: asked.reusedSocket, keepAlive: String(response.headers['keep-alive']) }),
        );
      });
      asked.once('error', reject).end();
    });
  try {
    const { keepAlive } = await ask();
    expect(Number(/^timeout=(\d+)$/.exec(keepAlive)?.[1])).toBeGreaterThan(60);
    // Longer than `requestTimeoutMs`, and than the interval in which the server looks for late requests.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(await ask()).toMatchObject({ isReused: true });
  } finally {
    agent.destroy();
  }
});

test('a client address may have only so many connections at a time', async () => {
  const limits = { CONNECTIONS_PER_ADDRESS_MAX: 3, DRAIN_MS: 0 };
  const few = await open({ routes: [route('GET', '/count', echo)] }, limits);
  const before = handled;
  const held = [1, 2, 3].map(() => openRaw('', few).socket);
  await Promise.all(held.map((socket) => once(socket, 'connect')));
  expect(await ask('', few)).toMatch(/^HTTP\/1.1 429 [\s\S]*Retry-After: 1[\s\S]*"code":"rate_limited"/);
  expect(await ask('GET /count HTTP/1.1\r\nHost: a\r\n\r\n', few)).toMatch(/^HTTP\/1.1 429/);
  expect(handled).toBe(before);
  held.pop()?.destroy();
  const isFree = async () =>
    (await ask('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', few)).startsWith('HTTP/1.1 404');
  await until('the place of a closed connection is free', isFree);
  for (const socket of held) socket.destroy();
  await few.stop();
});

test('only so many requests are handled at a time, and more get 503 with Retry-After', async () => {
  const waiting: (() => void)[] = [];
  const handle = () => new Promise<Reply>((resolve) => waiting.push(() => resolve(okText('done'))));
  const limits = { CONCURRENT_REQUESTS_MAX: 2, DRAIN_MS: 0 };
  const api = await open({ routes: [route('GET', '/wait', handle)] }, limits);
  const ask = () => fetch(`http://127.0.0.1:${api.port}/wait`);
  const handled = [ask(), ask()];
  for (const answer of handled) answer.catch(() => undefined);
  await until(() => waiting.length === 2);
  const refused = await ask();
  expect(refused.headers.get('retry-after')).toBe('1');
  expect((await expectProblem(refused, 503, 'unavailable'))['retryable']).toBe(true);
  for (const finish of waiting) finish();
  expect((await Promise.all(handled)).map(({ status }) => status)).toEqual([200, 200]);
  const next = ask();
  next.catch(() => undefined);
  await until(() => waiting.length === 3);
  waiting[2]?.();
  expect((await next).status).toBe(200);
  await api.stop();
});

test('a refusal is logged with its request id, and an untrusted proxy is named once', async () => {
  const lines: { level: string; fields: Record<string, unknown>; text: string }[] = [];
  const write = (level: string) => (fields: object, text: string) =>
    void lines.push({ level, fields: { ...fields }, text });
  const logger = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  const place = route('POST', '/place', async ({ describe }) => {
    describe({ maker: '0xa', orders: 2 });
    return { code: 'duplicate', detail: 'again', index: 1 };
  });
  const api = await open({ logger, routes: [place] }, { DRAIN_MS: 0 });
  const base = `http://127.0.0.1:${api.port}`;
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.1', 'x-request-id': 'mine-7' };
  for (let n = 0; n < 2; n += 1) {
    await expectProblem(await fetch(`${base}/place`, { method: 'POST', body: '[]', headers }), 400, 'duplicate');
  }
  const refused = lines.filter(({ fields }) => fields['requestId'] === 'mine-7' && fields['code'] === 'duplicate');
  expect(refused).toHaveLength(2);
  expect(refused[0]).toMatchObject({
    level: 'info',
    fields: { endpoint: 'POST /place', status: 400, maker: '0xa', index: 1, detail: 'again' },
  });
  expect(lines.filter(({ text }) => text.includes('TRUSTED_PROXY_HOPS'))).toHaveLength(1);
  const [, requestId] = /X-Request-Id: (\S+)/.exec(await ask('NONSENSE\r\n\r\n', api)) ?? [];
  expect(lines).toContainEqual(
    expect.objectContaining({ fields: expect.objectContaining({ requestId, status: 400 }) }),
  );
  await api.stop();
});

describe('a stream', () => {
  test.each([
    ['closes its side', (raw: ReturnType<typeof openRaw>) => void raw.socket.end()],
    ['is gone', (raw: ReturnType<typeof openRaw>) => void raw.socket.destroy()],
  ])('ends as soon as its client %s, even if nothing is sent', async (_, leave) => {
    const begun = Promise.withResolvers<ServerResponse>();
    const endless: Reply = { body: '', contentType: 'text/event-stream', stream: begun.resolve };
    const server = await open({ routes: [route('GET', '/events', async () => endless)] });
    const raw = openRaw('GET /events HTTP/1.1\r\nHost: x\r\n\r\n', server);
    const closed = once(await begun.promise, 'close');
    await until(() => raw.answer.includes('text/event-stream'));
    leave(raw);
    await closed;
    await server.stop();
  });

  test('does not begin for a client that has already left', async () => {
    const begun: ServerResponse[] = [];
    const asked = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<Reply>();
    const handle = () => {
      asked.resolve();
      return answered.promise;
    };
    const server = await open({ routes: [route('GET', '/events', handle)] });
    const raw = openRaw('GET /events HTTP/1.1\r\nHost: x\r\n\r\n', server);
    await asked.promise;
    raw.socket.end();
    // The service may notice the close later.
    await until(async () => {
      const other = await fetch(`http://127.0.0.1:${server.port}/nothing`);
      return other.status === 404;
    });
    await pause(100);
    answered.resolve({ body: '', contentType: 'text/event-stream', stream: (response) => void begun.push(response) });
    await raw.closed;
    expect(begun).toEqual([]);
    await server.stop();
  });
});

test('stopping under load drops no request: each is answered, or its connection is refused', async () => {
  const handle = async (): Promise<Reply> => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return okText('done');
  };
  const api = await open({ routes: [route('POST', '/work', handle)] });
  const url = `http://127.0.0.1:${api.port}/work`;
  let sent = 0;
  const load = loadUntilRefused(20, () => {
    sent += 1;
    return { method: 'POST', url, body: '[]' };
  });
  await until(() => sent >= 200);
  await api.stop();
  const { answered, dropped } = await load;
  expect(dropped).toEqual([]);
  expect(answered.every(({ status }) => status === 200)).toBe(true);
  expect(answered.length).toBeGreaterThan(180);
});

test('stopping cuts off no answer that a slow client is still reading', async () => {
  const body = Buffer.alloc(32 * 1024 * 1024, 'a');
  const api = await open({ routes: [route('GET', '/large', async () => okJson(body))] });
  const socket = connect(api.port, '127.0.0.1', () => socket.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n'));
  let bytes = 0;
  socket.once('data', () => socket.pause());
  socket.on('data', (chunk) => {
    bytes += chunk.length;
  });
  await until(() => bytes > 0);
  const stopped = api.stop();
  await pause(1_500);
  socket.resume();
  await once(socket, 'close');
  await stopped;
  expect(bytes).toBeGreaterThan(body.length);
});

test('stopping closes no connection whose request arrived while the process was busy', async () => {
  const api = await open({ routes: [route('GET', '/work', async () => okText('done'))] });
  const get = 'GET /work HTTP/1.1\r\nHost: a\r\n\r\n';
  const raw = openRaw(get, api);
  const answers = () => raw.answer.split('HTTP/1.1 200').length - 1;
  await until(() => answers() === 1);
  const stopped = api.stop();
  // Idle connections are closed from then on.
  await pause(1_010);
  setImmediate(() => {
    raw.socket.write(get);
    const busyUntilMs = performance.now() + 100;
    while (performance.now() < busyUntilMs);
  });
  await raw.closed;
  expect(answers()).toBe(2);
  await stopped;
});
