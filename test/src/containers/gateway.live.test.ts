import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readRoutes, routeOf } from '@makerbook/local-stack';
import { findFreePort, until } from '@makerbook/parts';
import { openRaw, type RawAnswer } from '../kit/raw-http.js';
import { type Gateway, startGateway, type Upstreams } from './start-gateway.js';

const hasNginx = spawnSync('nginx', ['-v']).error === undefined;
if (!hasNginx) console.warn('nginx is not tested: install it, for example by `apt-get install -y nginx-light`');
const describeIfNginx = hasNginx ? describe : describe.skip;

const ANSWER_MS_MAX = 120_000;
const routes = readRoutes();
const upstreams: Server[] = [];
let ports: Upstreams;
let gateway: Gateway;

/** Starts a server that answers with the service it stands for and the request that reached it. */
async function standIn(service: string): Promise<number> {
  const server = createServer({ maxHeaderSize: 131_072 }, ({ method, url, headers }: IncomingMessage, response) =>
    response.end(JSON.stringify({ service, method, url, headers })),
  );
  server.keepAliveTimeout = 75_000;
  upstreams.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

async function ask(method: string, target: string, fields = '', host = 'Host: a\r\n'): Promise<RawAnswer> {
  const connection = await openRaw('127.0.0.1', Number(new URL(gateway.url).port));
  connection.socket.write(Buffer.from(`${method} ${target} HTTP/1.1\r\n${host}Accept: a\r\n${fields}\r\n`, 'latin1'));
  const { answers } = await connection.read({ answers: 1, timeoutMs: ANSWER_MS_MAX, isHead: method === 'HEAD' });
  connection.close();
  const [answer] = answers;
  if (answer === undefined) throw new Error(`${method} ${target} was not answered`);
  return answer;
}

function expectProblem({ status, headers, body }: RawAnswer, wanted: number, code: string): void {
  expect([status, body.toString()]).toEqual([wanted, expect.stringContaining(`"code":"${code}"`)]);
  expect(headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  const problem = JSON.parse(body.toString()) as Record<string, unknown>;
  expect(problem).toMatchObject({
    status,
    type: `urn:makerbook:problem:${code}`,
    requestId: headers.get('x-request-id'),
  });
  expect(headers.get('retry-after')).toBe(problem['retryable'] === true ? '1' : undefined);
}

describeIfNginx('nginx with the configuration of deploy/compose', () => {
  beforeAll(async () => {
    const [ingress, query, feed] = await Promise.all(['ingress', 'query', 'feed'].map(standIn));
    const only = (port: number | undefined) => [port ?? 0];
    ports = { ingress: only(ingress), query: only(query), feed: only(feed) };
    gateway = await startGateway(await findFreePort(), ports);
  });
  afterAll(async () => {
    await gateway?.stop();
    for (const server of upstreams) server.close();
  });

  test.each([
    ['GET', '/v0alpha/book/stream'],
    ['POST', '/v0alpha/book'],
    ['GET', '/v0alpha/book;a'],
    ['GET', '/v0alpha/book?a=/../..%2f'],
    ['HEAD', '/v0alpha/limit-orders'],
    ['GET', '/v0alpha/limit-orders/0x1?a'],
    ['POST', '/v0alpha/limit-orders'],
    ['DELETE', '/v0alpha/limit-orders?a'],
    ['POST', '/v0alpha/limit-orders/info'],
    ['PATCH', '/v0/quote/data'],
    ['GET', '/v0'],
    ['GET', '/'],
    ['GET', '/?a'],
    ['GET', '/docs'],
    ['GET', '/docs/a/b.js?c'],
    ['GET', '/openapi.json'],
    ['GET', '/asyncapi.json?a'],
    ['GET', '/docs2'],
    ['GET', '/v0alphabet'],
    ['GET', '/V0alpha/book'],
    ['GET', '/console'],
    ['GET', '/console/orders%2f0x1%3f/..%2f..%2fv0alpha%2fbook%2fx'],
    ['GET', '/v0alpha/book/..%2Flimit-orders'],
    ['GET', '/v0alpha/book/../limit-orders'],
    ['GET', '/v0alpha/./book'],
    ['GET', '//v0alpha/book'],
    ['GET', '/v0alpha//book'],
    ['GET', '/docs/%2e%2e/v0alpha/book/x'],
    ['GET', '/docs/%5c..'],
    ['GET', '/docs\\..'],
    ['GET', '/v0alpha/%252e'],
    ['GET', '/v0%61lpha/book'],
    ['GET', '/metrics'],
    ['GET', '/problem/invalid'],
  ])('%s %s goes unchanged to the service that deploy/routes.json names', async (method, target) => {
    const [path = ''] = target.split('?');
    const service = routeOf(routes, method, path);
    const answer = await ask(method, target);
    if (service === undefined) return expectProblem(answer, 404, 'not_found');
    expect(answer.status).toBe(200);
    if (method !== 'HEAD') expect(JSON.parse(answer.body.toString())).toMatchObject({ service, method, url: target });
  });

  test('nginx closes its connections to a pod that leaves, however busy they are', async () => {
    const [pod] = upstreams;
    const connections = () => new Promise<number>((resolve) => pod?.getConnections((_error, count) => resolve(count)));
    let isOver = false;
    const keepAsking = async () => {
      for (; !isOver; await pause(20)) expect((await ask('POST', '/v0alpha/limit-orders')).status).toBe(200);
    };
    const asking = Promise.all(Array.from({ length: 4 }, keepAsking));
    await until('nginx keeps connections', async () => (await connections()) > 0);
    await gateway.route({ ...ports, ingress: [await standIn('ingress')] });
    expect(await connections()).toBe(0);
    isOver = true;
    await asking;
  });

  test('a target with an origin is routed by its path', async () => {
    const { body } = await ask('GET', 'http://other.test/v0alpha/book/x?a=1');
    expect(JSON.parse(body.toString())).toMatchObject({ service: 'feed', url: '/v0alpha/book/x?a=1' });
  });

  test.each<[what: string, status: number, code: string, method: string, target: string, fields: string]>([
    ['a coding of the transfer that is unknown', 400, 'invalid_request', 'POST', '/v0', 'Transfer-Encoding: gzip\r\n'],
    ['chunked that is not last', 400, 'invalid_request', 'POST', '/v0', 'Transfer-Encoding: chunked, identity\r\n'],
    ['a negative length', 400, 'invalid_request', 'POST', '/v0', 'Content-Length: -1\r\n'],
    ['a second Host', 400, 'invalid_request', 'GET', '/v0', 'Host: b\r\n'],
    ['a path above the root', 400, 'invalid_request', 'GET', '/../x', ''],
    ['broken percent code', 400, 'invalid_request', 'GET', '/%zz', ''],
    ['TRACE', 405, 'method_not_allowed', 'TRACE', '/v0', ''],
    ['a body that is too large', 413, 'payload_too_large', 'POST', '/v0', 'Content-Length: 1000000\r\n'],
    ['a line that is too large', 413, 'payload_too_large', 'GET', `/v0?${'a'.repeat(70_000)}`, ''],
    ['a header that is too large', 413, 'payload_too_large', 'GET', '/v0', `X-A: ${'a'.repeat(70_000)}\r\n`],
  ])('%s is refused with a problem', async (_, status, code, method, target, fields) => {
    expectProblem(await ask(method, target, fields), status, code);
  });

  test.each([
    ['no Host', 'GET /v0 HTTP/1.1\r\n\r\n'],
    ['HTTP/3.0', 'GET /v0 HTTP/3.0\r\nHost: a\r\n\r\n'],
    ['HTTP/2 without TLS', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['CONNECT', 'CONNECT a.test:80 HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['what is no HTTP', 'NONSENSE\r\n\r\n'],
  ])('%s is refused with a problem, and its connection is closed', async (_, bytes) => {
    const connection = await openRaw('127.0.0.1', Number(new URL(gateway.url).port));
    connection.socket.write(bytes);
    const { answers, end } = await connection.read({ answers: 9, timeoutMs: ANSWER_MS_MAX });
    const [answer] = answers;
    if (answer === undefined) throw new Error('it was not answered');
    expectProblem(answer, 400, 'invalid_request');
    expect(end).toBe('closed');
  });

  test('a request to a service that is down is answered with 503', async () => {
    upstreams.find((_, index) => index === 2)?.close();
    upstreams[2]?.closeAllConnections();
    expectProblem(await ask('GET', '/v0alpha/book/x'), 503, 'unavailable');
  });

  test("headers about one connection are dropped, and the client's address is added after what it claims", async () => {
    const fields = ['Trailer: X-A', 'TE: trailers', 'Upgrade: h2c', 'Keep-Alive: a', 'Proxy-Authorization: a'].join(
      '\r\n',
    );
    const named = 'Connection: close, X-Forwarded-For\r\nX-Forwarded-For: 1.1.1.1\r\n';
    const { body } = await ask('GET', '/v0/x', `${fields}\r\n${named}`);
    const { headers } = JSON.parse(body.toString()) as { headers: Record<string, string> };
    expect(headers).toEqual({ host: 'ingress', 'x-forwarded-for': '1.1.1.1, 127.0.0.1', accept: 'a' });
  });
});
