import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { cancelAllRequestTypes, receiptTypes, typedDataDomain } from '@makerbook/contracts-evm';
import { problemBody } from '@makerbook/contracts-http';
import { paths } from '@makerbook/contracts-http/paths';
import { type Hex, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { TypedDataEncoder, Wallet } from 'ethers';
import type { WaitOptions } from './cancel-orders.js';
import { type ClientOptions, createClient, type MakerbookClient } from './create-client.js';
import type { MakerbookError } from './errors.js';
import type { Receipt } from './verify-receipts.js';

/** The time that `/info` tells. If undefined, the listed answers serve that request too. */
let infoAtMs: number | undefined;
/** A server that returns the answers of a list, one per request, and records the requests. */
let answers: ((request: IncomingMessage, response: ServerResponse) => void)[];
let asked: { url: URL; body: string; headers: IncomingHttpHeaders }[];

const server = createServer((request, response) => {
  respond(request, response).catch(() => response.destroy());
});
beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'));
beforeEach(() => {
  answers = [];
  asked = [];
  infoAtMs = Date.now();
});
afterAll(async () => {
  server.closeAllConnections();
  await once(server.close(), 'close');
});

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const chunk of request) body += chunk;
  const { url = '', headers } = request;
  if (url === paths.info && infoAtMs !== undefined) {
    response.writeHead(200, { 'X-Server-Time': String(infoAtMs) }).end('{}');
    return;
  }
  asked.push({ url: new URL(url, 'http://x'), body, headers });
  const answer = answers[asked.length - 1];
  if (answer === undefined) response.writeHead(500).end();
  else answer(request, response);
}

const wallet = Wallet.createRandom();
const clientOf = (options: Partial<ClientOptions> = {}): MakerbookClient =>
  createClient({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    signer: wallet.privateKey as Hex,
    chainId: 8217,
    serviceName: 'Test',
    limitOrderProtocol: `0x${'12'.repeat(20)}`,
    timeoutMs: 60_000,
    ...options,
  });
const plainDomain = typedDataDomain({ serviceName: 'Test', chainId: 8217, verifyingContract: `0x${'12'.repeat(20)}` });
const quickly = { retry: { pauseMs: 1, attemptsMax: 3 } };

const ok =
  (body: unknown, headers: Record<string, string> = {}) =>
  (_: IncomingMessage, response: ServerResponse) =>
    response.writeHead(200, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
const refuse =
  (code: Parameters<typeof problemBody>[0], headers: Record<string, string> = {}, index?: number) =>
  (_: IncomingMessage, response: ServerResponse) => {
    const body = problemBody(code, { detail: 'no', ...(index === undefined ? {} : { index }) }, 'request-1');
    response
      .writeHead(body.status, { 'Content-Type': 'application/problem+json', ...headers })
      .end(JSON.stringify(body));
  };
const hangUp = (request: IncomingMessage) => request.socket.destroy();
const sayNothing = () => undefined;

async function failureOf(call: Promise<unknown>): Promise<MakerbookError> {
  const outcome: unknown = await call.catch((error: unknown) => error);
  expect(outcome).toMatchObject({ name: 'MakerbookError' });
  return outcome as MakerbookError;
}

const signed = () =>
  clientOf().signOrder({
    making: { token: `0x${'ab'.repeat(20)}`, amount: 1n },
    taking: { token: `0x${'cd'.repeat(20)}`, amount: 1n },
    expiresAt: 2_000_000_000,
  });

describe('the client', () => {
  test('lists with a time one second back and a salt of 32 bytes, and returns how far behind the list is', async () => {
    infoAtMs = 1_700_000_000_999;
    answers = [ok([]), ok([], { 'X-Read-Lag': '7' }), ok([], { 'X-Read-Lag': 'unknown' })];
    const client = clientOf({ now: () => 1_700_000_000_999 });
    expect(await client.listOrders()).toEqual({ records: [], readLag: 0 });
    expect((await client.listOrders()).readLag).toBe(7);
    expect((await client.listOrders()).readLag).toBe('unknown');
    expect(asked[0]?.url.searchParams.get('issuedAt')).toBe('1699999999');
    expect(asked[0]?.url.searchParams.get('salt')).toMatch(/^0x[0-9a-f]{64}$/);
    expect(asked[1]?.url.searchParams.get('salt')).not.toBe(asked[0]?.url.searchParams.get('salt'));
  });

  test('cancels all up to the greatest time that the service has told, and asks for one if there is none', async () => {
    const client = clientOf({ now: () => 1_700_000_000_000 });
    const at = (ms: number) => ({ 'X-Server-Time': String(1_700_000_000_000 + ms) });
    infoAtMs = undefined;
    answers = [ok({}, at(2)), ok({}, at(3)), ok([], at(900)), ok([], at(5)), ok({})];
    await client.cancelAll();
    for (let n = 0; n < 2; n += 1) await client.listOrders();
    await client.cancelAll();
    expect(asked[0]?.url.pathname).toBe('/v0alpha/limit-orders/info');
    const untilMs = [1, 4].map((n) => JSON.parse(asked[n]?.body ?? '').untilMs - 1_700_000_000_000);
    expect(untilMs).toEqual([2, 900]);
  });

  test('signs no order whose expiry is in milliseconds', async () => {
    const amount = { token: `0x${'ab'.repeat(20)}`, amount: 1n };
    const draft = { making: amount, taking: amount, expiresAt: 1_700_000_000_000 };
    await expect(clientOf().signOrder(draft)).rejects.toThrow('expiresAt must be Unix seconds, and is in milliseconds');
  });

  test('lets a cancellation wait for the feed if asked, and returns what the answer says about it', async () => {
    const order = await signed();
    const answer = [{ orderHash: order.orderHash, status: 'CANCELLED' }];
    answers = [
      ok(answer, { 'X-Log-Position': '3:17', 'Preference-Applied': 'wait=2' }),
      ok(answer),
      ok(answer, { 'Preference-Applied': 'wait=2; by=router, receipt' }),
      ok(answer, { 'Preference-Applied': 'wait=2', 'X-Unseen-By': 'swift, slow' }),
    ];
    const asks = [{ orderHash: order.orderHash, salt: order.order.salt }];
    const ask = (options?: WaitOptions) => clientOf().cancelOrdersAndWait(asks, 2, options);
    const plain = { cancellations: answer, isSeenByRouters: false, unseenBy: [] };
    expect(await ask()).toEqual({ ...plain, isOutOfFeed: true, position: '3:17' });
    expect(await ask()).toEqual({ ...plain, isOutOfFeed: false, position: undefined });
    expect(asked[0]?.headers['prefer']).toBe('wait=2');
    expect(await ask({ by: 'router' })).toMatchObject({ isOutOfFeed: true, isSeenByRouters: true, unseenBy: [] });
    const unseen = { isOutOfFeed: true, isSeenByRouters: false, unseenBy: ['swift', 'slow'] };
    expect(await ask({ by: 'router' })).toMatchObject(unseen);
    expect(asked.at(-1)?.headers['prefer']).toBe('wait=2; by=router');
  });
});

describe('a receipt', () => {
  const position = '3:17, 5:2';
  const service = Wallet.createRandom();
  /** Makes an answer with a receipt over `stated`. */
  const signedOver = async (body: object, stated: object) => {
    const message = { placed: [], cancelled: [], messages: [], position, ...stated };
    const signature = await service.signTypedData(plainDomain, receiptTypes, message);
    return {
      answer: ok(body, { 'X-Log-Position': position, 'X-Receipt': signature }),
      receipt: { ...message, signature },
    };
  };

  test('is asked for with every request that stores something, and passed on', async () => {
    const receipts: Receipt[] = [];
    const client = clientOf({ onReceipt: (receipt) => void receipts.push(receipt) });
    const [order, old] = [await signed(), await signed()];
    const [placed, cancelled] = [[order.orderHash], [old.orderHash]];
    const items = (hashes: string[], status: string) => hashes.map((orderHash) => ({ orderHash, status }));
    const replaced = { placed: items(placed, 'VALIDATING'), cancelled: items(cancelled, 'CANCELLED') };
    const all = { maker: await client.maker(), untilMs: 1_700_000_000_007 };
    const message = { ...all, making: ZERO_ADDRESS, taking: ZERO_ADDRESS };
    const made = [
      await signedOver(replaced.placed, { placed }),
      await signedOver([...replaced.cancelled, ...items(placed, 'NOT_FOUND')], { cancelled }),
      await signedOver(replaced, { placed, cancelled }),
      await signedOver(all, { messages: [TypedDataEncoder.hash(plainDomain, cancelAllRequestTypes, message)] }),
    ];
    answers = [...made.map(({ answer }) => answer), ok([], { 'X-Log-Position': position }), ok([])];
    const gone = [{ orderHash: old.orderHash, salt: old.order.salt }];
    await client.placeOrders([order]);
    await client.cancelOrdersAndWait(gone, 2);
    await client.replaceOrders(gone, [order]);
    await client.cancelAll({ untilMs: 1_700_000_000_007 });
    await client.placeOrders([order]);
    await client.listOrders();
    expect(receipts).toEqual(made.map(({ receipt }) => receipt));
    expect(asked.map(({ headers }) => headers['prefer'])).toEqual([
      'receipt',
      'wait=2, receipt',
      'receipt',
      'receipt',
      'receipt',
      undefined,
    ]);
  });

  test('that cannot be kept fails the call, though it has taken effect', async () => {
    const order = await signed();
    const { answer } = await signedOver([{ orderHash: order.orderHash, status: 'VALIDATING' }], {
      placed: [order.orderHash],
    });
    answers = [answer, answer];
    for (const onReceipt of [() => Promise.reject(new Error('disk full')), () => JSON.parse('disk full')]) {
      const failure = await failureOf(clientOf({ onReceipt }).placeOrders([order]));
      expect(failure).toMatchObject({ code: 'receipt_not_kept', mayHaveHappened: true, retryable: false });
    }
  });

  test('does not mean that the call has waited for the feed', async () => {
    const order = await signed();
    answers = [ok([], { 'X-Log-Position': position, 'Preference-Applied': 'receipt' })];
    const client = clientOf({ onReceipt: () => undefined });
    const answer = await client.cancelOrdersAndWait([{ orderHash: order.orderHash, salt: order.order.salt }], 2);
    expect(answer).toMatchObject({ isOutOfFeed: false, position });
  });
});

describe('a failure', () => {
  test('of the service carries its code, index, request id, and Retry-After', async () => {
    answers = [refuse('rate_limited', { 'Retry-After': '4' }, 2)];
    expect(await failureOf(clientOf().listOrders())).toMatchObject({
      code: 'rate_limited',
      status: 429,
      detail: 'no',
      requestId: 'request-1',
      retryable: true,
      index: 2,
      retryAfterSeconds: 4,
    });
  });

  test('with a code of a newer service carries that code, and what the service says', async () => {
    const body = { ...problemBody('duplicate', { detail: 'no' }, 'request-1'), code: 'maker_asleep' };
    answers = [(_, response) => response.writeHead(400).end(JSON.stringify(body))];
    const failure = await failureOf(clientOf().listOrders());
    expect(failure).toMatchObject({ code: 'maker_asleep', status: 400, detail: 'no', requestId: 'request-1' });
    expect(failure.mayHaveHappened).toBe(false);
    expect(failure.problem).toEqual(body);
  });

  test.each([
    ['a connection that breaks', hangUp],
    ['an answer that does not come', sayNothing],
  ])('by %s is `unreachable`, retryable, and of unknown outcome if it stores something', async (_name, answer) => {
    answers = [answer, answer];
    const read = await failureOf(clientOf({ timeoutMs: 1000 }).listOrders());
    expect(read).toMatchObject({ code: 'unreachable', mayHaveHappened: false });
    const error = await failureOf(clientOf({ timeoutMs: 1000 }).placeOrders([await signed()]));
    expect(error).toMatchObject({ code: 'unreachable', status: 0, retryable: true, mayHaveHappened: true });
  });

  test('of a gateway in between is `unreadable` with its status', async () => {
    const order = await signed();
    const bodies = ['<html>', '{"code":"101504","type":"Status report"}'];
    answers = bodies.map((body) => (_, response) => response.writeHead(502).end(body));
    for (const _ of bodies) {
      const bad = { code: 'unreadable', status: 502, retryable: true, mayHaveHappened: true };
      expect(await failureOf(clientOf().placeOrders([order]))).toMatchObject(bad);
    }
  });

  test('by an answer of the wrong shape is `unreadable`, and not retryable', async () => {
    answers = [ok('{"orders":[]}'), ok('<html>')];
    expect(await failureOf(clientOf().listOrders())).toMatchObject({ code: 'unreadable', retryable: false });
    const quote = { data: '0x12', minOutput: 1n };
    expect(await failureOf(clientOf().patchQuote(quote))).toMatchObject({ code: 'unreadable', mayHaveHappened: false });
  });
});

describe('with retry', () => {
  test('a list is signed again for each try', async () => {
    answers = [refuse('unavailable'), ok([])];
    expect((await clientOf(quickly).listOrders()).records).toEqual([]);
    const salts = asked.map(({ url }) => url.searchParams.get('salt'));
    expect(new Set(salts).size).toBe(2);
  });

  test('a duplicate after an unknown outcome is the caller’s to judge', async () => {
    const order = await signed();
    answers = [hangUp, refuse('duplicate')];
    expect(await failureOf(clientOf(quickly).placeOrders([order]))).toMatchObject({ code: 'duplicate' });
    asked = [];
    const stored = await clientOf(quickly).placeOrders([order], { duplicateCountsAsStored: true });
    expect(stored).toEqual([{ ...order, status: 'VALIDATING' }]);
  });

  test('another refusal after an unknown outcome says nothing about the earlier try', async () => {
    answers = [hangUp, refuse('valid_until_passed')];
    const error = await failureOf(clientOf(quickly).placeOrders([await signed()]));
    expect(error).toMatchObject({ code: 'valid_until_passed', status: 400, mayHaveHappened: true });
  });

  test('orders are replaced in one request, and a duplicate after an unknown outcome can count as stored', async () => {
    const [old, order] = [await signed(), await signed()];
    answers = [hangUp, refuse('duplicate')];
    const gone = [{ orderHash: old.orderHash, salt: old.order.salt }];
    const options = { duplicateCountsAsStored: true, validUntilMs: 1_700_000_000_123 };
    expect(await clientOf(quickly).replaceOrders(gone, [order], options)).toEqual({
      cancelled: [{ orderHash: old.orderHash, status: 'CANCELLED' }],
      placed: [{ ...order, status: 'VALIDATING' }],
    });
    expect(asked[1]?.url.pathname).toBe('/v0alpha/limit-orders/replacements');
    expect(asked[1]?.headers['valid-until-ms']).toBe('1700000000123');
    expect(JSON.parse(asked[1]?.body ?? '')).toEqual({
      cancel: [{ orderHash: old.orderHash, signature: expect.stringMatching(/^0x/), salt: old.order.salt }],
      place: [{ order: order.order, signature: order.signature }],
    });
  });

  test('a replacement by salts whose answer was lost learns from the history what it cancelled', async () => {
    const [order, ...olds] = [await signed(), await signed(), await signed(), await signed()];
    const thenMs = 1_700_000_000_005;
    const [before, first, second] = olds.map(({ orderHash }) => orderHash);
    const entry = (requestId: string, loggedAtMs: number, orderHash = order?.orderHash) => {
      return { orderHash, happened: 'REMOVED', loggedAtMs, cause: { kind: 'request', requestId } };
    };
    const page = (nextCursor: string, ...entries: object[]) => ok({ entries, nextCursor, hasMore: true });
    const timeline = [
      { happened: 'FILLED', loggedAtMs: 3 },
      { ...entry('own', thenMs), happened: 'OPENED' },
    ];
    const pages = [
      page('8', entry('other', thenMs, before), entry('own', thenMs, first)),
      page('9', entry('own', thenMs, second), entry('own', thenMs + 1)),
    ];
    answers = [hangUp, refuse('duplicate'), ok({ timeline }), ...pages, hangUp, refuse('duplicate'), refuse('gone')];
    const replace = () =>
      clientOf(quickly).replaceOrders({ salts: [7n], untilMs: 1_700_000_000_000 }, order === undefined ? [] : [order], {
        duplicateCountsAsStored: true,
      });
    const { cancelled } = await replace();
    expect(cancelled).toEqual([first, second].map((orderHash) => ({ orderHash, status: 'CANCELLED' })));
    const queries = asked
      .slice(3)
      .map(({ url }) => ['happened', 'fromMs', 'cursor'].map((of) => url.searchParams.get(of)));
    expect(queries).toEqual([
      ['REMOVED', String(thenMs), null],
      ['REMOVED', String(thenMs), '8'],
    ]);
    expect(await failureOf(replace())).toMatchObject({ code: 'gone', mayHaveHappened: true });
  });

  test.each([
    ['at the first try', [refuse('duplicate')]],
    ['after a refusal that stored nothing', [refuse('rate_limited'), refuse('duplicate')]],
  ])('a duplicate %s stays a duplicate', async (_when, given) => {
    answers = given;
    const placing = clientOf(quickly).placeOrders([await signed()], { duplicateCountsAsStored: true });
    expect(await failureOf(placing)).toMatchObject({ code: 'duplicate' });
  });
});
