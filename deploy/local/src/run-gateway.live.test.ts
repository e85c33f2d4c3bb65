import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { findFreePort } from '@makerbook/parts';
import type { GatewaySettings } from './gateway-env.js';
import { readRoutes } from './route-requests.js';
import { type Gateway, runGateway } from './run-gateway.js';

let gateway: Gateway;
let settings: GatewaySettings;
let base: string;
let ingress: Server;
let answerIngress: RequestListener = (_request, response) => void response.end();
const sockets = new Set<unknown>();
const url = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const serve = (listener: RequestListener) =>
  new Promise<Server>((resolve) => {
    const server = createServer({ maxHeaderSize: 65_536 }, listener).listen(0, '127.0.0.1', () => resolve(server));
  });

beforeAll(async () => {
  ingress = await serve((request, response) => {
    sockets.add(request.socket);
    answerIngress(request, response);
  });
  const gone = `http://127.0.0.1:${await findFreePort()}`;
  settings = {
    HOST: '127.0.0.1',
    HOST_NAMES: [],
    PORT: 0,
    BODY_BYTES_MAX: 100_000,
    HEADER_BYTES_MAX: 65_536,
    CONNECTIONS_PER_ADDRESS_MAX: 100,
    GATEWAY_REQUESTS_MAX: 10_000,
    CLIENT_WINDOW_SECONDS: 60,
    CORS_ORIGINS: ['*'],
    INGRESS_URL: url(ingress),
    QUERY_URL: gone,
    FEED_URL: 'http://127.0.0.1:1',
    CONSOLE_PORT: 0,
    CONSOLE_URL: '',
    MAKERBOOK_DATA: '',
    OPS_URLS: [
      ['ingress', url(ingress)],
      ['query', gone],
    ],
  };
  gateway = await runGateway(settings, readRoutes(), () => undefined);
  base = `http://127.0.0.1:${gateway.port}`;
});
afterEach(() => {
  answerIngress = (_request, response) => void response.end();
});
afterAll(async () => {
  await gateway.stop();
  ingress.closeAllConnections();
  await new Promise((resolve) => ingress.close(resolve));
});

describe('the gateway', () => {
  test('passes method, path, query, headers and body on, and status, headers and body back, unchanged', async () => {
    answerIngress = (request, response) => {
      const answer = (body: string) => {
        response.writeHead(418, { 'content-type': 'text/odd', 'x-own': 'kept' });
        response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }));
      };
      text(request).then(answer, () => response.destroy());
    };
    const response = await fetch(`${base}/v0alpha/limit-orders?b=%2C&a=1,2`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': 'mine-1', traceparent: 'kept' },
      body: ' [ {"a" : 1} ] ',
    });
    expect(response.status).toBe(418);
    expect(response.headers.get('content-type')).toBe('text/odd');
    expect(response.headers.get('x-own')).toBe('kept');
    const seen = (await response.json()) as { headers: Record<string, string> };
    expect(seen).toMatchObject({ method: 'POST', url: '/v0alpha/limit-orders?b=%2C&a=1,2', body: ' [ {"a" : 1} ] ' });
    expect(seen.headers).toMatchObject({ 'x-request-id': 'mine-1', traceparent: 'kept' });
  });

  test("adds the client's address behind whatever the client claims", async () => {
    answerIngress = (request, response) => void response.end(request.headers['x-forwarded-for']);
    const response = await fetch(`${base}/v0/quote/data`, { headers: { 'x-forwarded-for': '1.2.3.4' } });
    expect(await response.text()).toMatch(/^1\.2\.3\.4, (::ffff:)?127\.0\.0\.1$/);
  });

  test('drops headers about one connection, and those that Connection names, in both directions', async () => {
    answerIngress = (request, response) => {
      const fields = {
        Connection: 'close, X-Named',
        'X-Named': '1',
        'Keep-Alive': 'timeout=1',
        Trailer: 'X-T',
        Upgrade: 'h2c',
      };
      response.writeHead(200, {
        ...fields,
        'Proxy-Authenticate': 'Basic',
        'X-Own': 'kept',
        'Transfer-Encoding': 'chunked',
      });
      text(request).then(
        () => response.end(JSON.stringify(request.headers)),
        () => response.destroy(),
      );
    };
    const dropped = ['Trailer: X-A', 'TE: trailers', 'Keep-Alive: timeout=9', 'Upgrade: h2c', 'Proxy-Authorization: x'];
    const named = 'Connection: X-Secret, x-forwarded-for, Content-Length, close';
    const fields = [
      ...dropped,
      named,
      'X-Secret: 1',
      'X-Forwarded-For: 1.1.1.1',
      'Expect: 100-continue',
      'X-Any: kept',
    ];
    const head = ['POST /v0/x HTTP/1.1', 'Host: localhost', ...fields, 'Content-Length: 2'].join('\r\n');
    const answer = await textOf(await openRaw(`${head}\r\n\r\n[]`));
    expect(answer).toMatch(/HTTP\/1.1 200/);
    const [answered = '', body = ''] = answer.slice(answer.indexOf('HTTP/1.1 200')).split('\r\n\r\n');
    expect(answered).toMatch(/X-Own: kept/i);
    expect(answered).not.toMatch(/X-Named|Trailer|Upgrade|Proxy-|timeout=1/i);
    const seen = JSON.parse(/\{.*\}/.exec(body)?.[0] ?? '') as Record<string, string>;
    expect(seen).toMatchObject({
      'x-any': 'kept',
      'content-length': '2',
      'x-forwarded-for': expect.stringMatching(/^\S+$/),
    });
    expect(Object.keys(seen)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/trailer|te$|secret|upgrade|proxy|keep/)]),
    );
    expect(seen).toMatchObject({ connection: 'keep-alive' });
  });

  test('answers 500 or 503, and goes on, if the answer of a service cannot be passed on', async () => {
    const odd = createTcpServer((socket) => {
      socket.once('data', () => socket.end(answers.pop() ?? ''));
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => odd.listen(0, '127.0.0.1', resolve));
    const answers = ['HTTP/1.1 099 x\r\n\r\n', 'HTTP/1.1 200 x\r\nX-A: \x01\r\n\r\n', 'nonsense'];
    const lines: string[] = [];
    const QUERY_URL = `http://127.0.0.1:${(odd.address() as AddressInfo).port}`;
    const before = await runGateway({ ...settings, QUERY_URL }, readRoutes(), (line) => lines.push(line));
    while (answers.length > 0) {
      const { status } = await fetch(`http://127.0.0.1:${before.port}/docs`);
      expect([500, 503]).toContain(status);
    }
    expect(lines).toHaveLength(3);
    await before.stop();
    await new Promise((resolve) => odd.close(resolve));
  });

  test('keeps its connections to a service, even when clients close theirs', async () => {
    sockets.clear();
    for (let index = 0; index < 5; index += 1) {
      await (await fetch(`${base}/v0/x`, { headers: { connection: 'close' } })).text();
    }
    expect(sockets.size).toBeLessThanOrEqual(1);
  });

  test('passes a request on only once it is whole, so that a slow body holds only its own socket', async () => {
    const asked: string[] = [];
    answerIngress = (request, response) => {
      text(request).then(
        (body) => {
          asked.push(`${request.method} ${request.headers['content-length']} ${body}`);
          response.end();
        },
        () => response.destroy(),
      );
    };
    const head = 'POST /v0/x HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n';
    const slow = await Promise.all(Array.from({ length: 90 }, () => openRaw(`${head}slow`)));
    const chunked = await openRaw('POST /v0/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n');
    await delay(300);
    expect(asked).toEqual([]);
    expect((await fetch(`${base}/v0/x`, { method: 'POST', body: 'fast' })).status).toBe(200);
    expect(asked).toEqual(['POST 4 fast']);
    chunked.write('3\r\ntwo\r\n0\r\n\r\n');
    slow[0]?.write('er');
    while (asked.length < 3) await delay(10);
    expect(asked.sort()).toEqual(['POST 4 fast', 'POST 6 onetwo', 'POST 6 slower']);
    for (const socket of [...slow, chunked]) socket.destroy();
  });

  test('answers 503 if the service dies before its answer, and cuts the connection if it dies during it', async () => {
    answerIngress = (request) => void request.socket.destroy();
    expect((await fetch(`${base}/v0/x`, { method: 'POST', body: 'x' })).status).toBe(503);
    answerIngress = (request, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('half');
      setTimeout(() => request.socket.destroy(), 50);
    };
    const response = await fetch(`${base}/v0/x`);
    await expect(response.text()).rejects.toThrow();
  });

  test('tells the service when a client has gone', async () => {
    const arrived = Promise.withResolvers<ServerResponse>();
    answerIngress = (_request, response) => arrived.resolve(response);
    const abort = new AbortController();
    const request = fetch(`${base}/v0/x`, { signal: abort.signal }).catch(() => undefined);
    const closed = once(await arrived.promise, 'close');
    abort.abort();
    await request;
    await closed;
  });

  test.each([
    ['closes its side', (socket: Socket) => void socket.end()],
    ['is gone', (socket: Socket) => void socket.destroy()],
  ])('ends a stream as soon as its client %s, even if nothing is sent on it', async (_, leave) => {
    const arrived = Promise.withResolvers<ServerResponse>();
    answerIngress = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).write(':\n\n');
      arrived.resolve(response);
    };
    const socket = await openRaw('GET /v0/x HTTP/1.1\r\nHost: x\r\n\r\n');
    const closed = once(await arrived.promise, 'close');
    await once(socket, 'data');
    leave(socket);
    await closed;
  });

  test('is ready when all services are, names one that is not, and asks each at most once a second', async () => {
    let asked = 0;
    answerIngress = (_request, response) => {
      asked += 1;
      response.end(JSON.stringify({ checks: { kafka: 'ok' } }));
    };
    const startedAt = performance.now();
    const [response] = (await Promise.all(Array.from({ length: 20 }, () => fetch(`${base}/readyz`)))) as [Response];
    expect(asked).toBeLessThanOrEqual(1 + (performance.now() - startedAt) / 1000);
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({
      status: 'unavailable',
      checks: { ingress: 'ok', query: 'process: does not answer' },
    });
    expect((await fetch(`${base}/livez`)).status).toBe(200);
  });

  test('limits the requests of a client to all paths, and counts a large body as several', async () => {
    const strict = await runGateway({ ...settings, GATEWAY_REQUESTS_MAX: 5 }, readRoutes(), () => undefined);
    const paths = ['/livez', '/readyz', '/v0/x', '/nowhere', '/livez', '/livez', '/v0/x'];
    const answers = await Promise.all(paths.map((path) => fetch(`http://127.0.0.1:${strict.port}${path}`)));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(2);
    await strict.stop();
    // Each 8 KiB of the body counts as one more request.
    const other = await runGateway({ ...settings, GATEWAY_REQUESTS_MAX: 5 }, readRoutes(), () => undefined);
    const post = () => fetch(`http://127.0.0.1:${other.port}/v0/x`, { method: 'POST', body: 'x'.repeat(33_000) });
    expect([(await post()).status, (await post()).status]).toEqual([200, 429]);
    await other.stop();
  });
});

/** Reads everything that is answered until the connection is closed. */
async function textOf(socket: Socket): Promise<string> {
  let answer = '';
  socket.on('data', (chunk) => (answer += chunk.toString('latin1')));
  await once(socket, 'close');
  return answer;
}

function openRaw(text: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(gateway.port, '127.0.0.1', () => {
      socket.write(text);
      resolve(socket);
    });
    socket.once('error', reject);
    socket.on('error', () => undefined);
    socket.resume();
  });
}
