import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { errorsOfAnyRequest, operations, problemKinds } from '@makerbook/contracts-http';
import { eventually } from '../kit/eventually.js';
import { type FollowedOrders, followOrders } from '../kit/follow-orders.js';
import { type Asked, asCancellations, ORDERS_PATH } from '../kit/make-requests.js';
import type { RawAnswer } from '../kit/raw-http.js';
import { BODY_BYTES_MAX, type ErrorRow, errorRows, goodRequests, limits, provenElsewhere } from './error-rows.js';
import { findRoot } from './find-root.js';
import { codeOf, type OpenBed } from './open-bed.js';

/** Status of each code, and whether it is worth a retry. Taken from the interface and not from the source code. */
const codes: Readonly<Record<string, readonly [status: number, isRetryable: boolean]>> = {
  invalid_request: [400, false],
  too_many_orders: [400, false],
  unsupported_permitted_taker: [400, false],
  valid_until_passed: [400, false],
  order_expired: [400, false],
  order_cancelled: [400, false],
  duplicate: [400, false],
  no_changes: [400, false],
  invalid_date: [400, false],
  unauthorized: [401, false],
  invalid_signature: [403, false],
  maker_not_whitelisted: [403, false],
  request_expired: [403, false],
  request_replayed: [403, false],
  not_found: [404, false],
  field_not_exists: [404, false],
  superseded: [409, false],
  remaining_changed: [409, false],
  method_not_allowed: [405, false],
  request_timeout: [408, true],
  gone: [410, false],
  payload_too_large: [413, false],
  unsupported_media_type: [415, false],
  rate_limited: [429, true],
  internal: [500, true],
  unavailable: [503, true],
};

/** Expects the answer to be the problem document of the code (RFC 9457). */
function expectProblem({ status, headers, body }: RawAnswer, code: string, row: Partial<ErrorRow>): string {
  const text = body.toString();
  expect(`${status} ${text.slice(0, 500)}`).toMatch(new RegExp(`^${codes[code]?.[0]} .*"code":"${code}"`));
  expect(headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  const problem = JSON.parse(text) as Record<string, unknown> & { requestId: string };
  const { title, detail, requestId, errors, index, counts, ...rest } = problem;
  expect(rest).toEqual({ type: `urn:makerbook:problem:${code}`, status, code, retryable: codes[code]?.[1] });
  expect(counts).toEqual(row.saysWhatCounts && expect.objectContaining({ issuedAtMs: expect.any(Number) }));
  expect(title).toMatch(/^[A-Z].+/);
  // Expect a sentence for its reader, without a trace of the source code.
  expect(detail).toMatch(/^\S.{5,}/);
  expect(text).not.toMatch(/Error:|\.[jt]s:|node_modules|<html/i);
  if (row.index === 'some') expect(index).toEqual(expect.any(Number));
  else expect(index).toBe(row.index);
  const pointers = (errors as { pointer: string; detail: string }[] | undefined)?.map(({ pointer }) => pointer);
  if (row.pointers !== undefined) expect(pointers).toEqual(row.pointers);
  expect(headers.get('x-request-id')).toBe(requestId);
  if (codes[code]?.[1]) expect(headers.get('retry-after')).toMatch(/^[1-9][0-9]*$/);
  for (const [name, pattern] of Object.entries(row.headers ?? {})) expect(headers.get(name)).toMatch(pattern);
  return requestId;
}

/** Tests each error at each endpoint where it can occur, and that nothing that was refused is stored. */
export function testErrors(bedOf: () => OpenBed): void {
  let topics: FollowedOrders;
  const refused = new Set<string>();

  beforeAll(() => {
    topics = followOrders(bedOf().stack);
  });
  afterAll(() => topics?.close());

  describe.each(Object.entries(Object.groupBy(errorRows, ({ operation }) => operation)))(
    '%s',
    (_operation, rows = []) => {
      test.each(rows.map((row) => [row.code, row.when, row] as const))('%s: %s', async (code, _when, row) => {
        const bed = bedOf();
        const asked = await row.ask(bed);
        const answer = 'status' in asked ? asked : await bed.send(asked, row.client);
        refused.add(expectProblem(answer, code, row));
      });
    },
  );

  test('what is not refused is answered in the same stack', async () => {
    const { make, makers, send } = bedOf();
    const item = make.order(makers.maker);
    expect(codeOf(await send(make.post([item])))).toBe('200');
    const list = async () => (await send(make.list(makers.maker))).body.toString();
    await eventually(async () => (await list()).includes(item.orderHash), true);
    const [patched, cancelled] = [
      await send(make.patch(make.quote(), '2')),
      await send(make.cancel([item], makers.maker)),
    ];
    expect(patched.body.toString()).toMatch(/^0x/);
    expect(codeOf(await send(make.list(makers.removed)))).toBe('200');
    const { status, headers } = await send({ method: 'OPTIONS', target: ORDERS_PATH });
    expect([status, headers.get('allow')]).toEqual([200, 'GET, HEAD, POST, DELETE, OPTIONS']);
    expect(JSON.parse(cancelled.body.toString())).toEqual([{ orderHash: item.orderHash, status: 'CANCELLED' }]);
  });

  test('an order is answered in normal form, and where it is in the log', async () => {
    const { make, makers, send } = bedOf();
    const loud = (hex: string, padding = '') => `0x${padding}${hex.slice(2).toUpperCase()}`;
    const { order, orderHash, signature } = make.order(makers.maker, { salt: '0xabc' });
    const { making, taking } = order;
    const odd = {
      ...order,
      salt: loud(order.salt, '000'),
      nonce: '0x00',
      making: { token: loud(making.token), amount: loud(making.amount, '0') },
    };
    const answer = await send(make.post([{ order: odd, signature: loud(signature) }]));
    const lower = <T extends { token: string }>(side: T) => ({ ...side, token: side.token.toLowerCase() });
    const expected = { ...order, making: lower(making), taking: lower(taking), maker: order.maker.toLowerCase() };
    const told = JSON.parse(answer.body.toString());
    expect(told).toEqual([{ order: expected, orderHash, signature, status: 'VALIDATING' }]);
    const [partition, offset] = (answer.headers.get('x-log-position') ?? '').split(':');
    const fact = () => topics.facts(Number(partition)).get(BigInt(offset ?? -1));
    await eventually(async () => fact()?.type, 'OrderSubmitted');
    expect(fact()).toMatchObject({ orderHash, order: expected, signature });
  });

  test('POST …/cancellations is counted with DELETE, for the client address and for the maker', async () => {
    const { make, makers, send } = bedOf();
    const items = [make.order(makers.maker), make.order(makers.maker)];
    await send(make.post(items));
    const [first, second] = items.map((item) => make.cancel([item], makers.maker)) as [Asked, Asked];
    const answers = [];
    for (const asked of [first, asCancellations(second)]) answers.push(await send(asked, '203.0.113.99'));
    const left = answers.map(({ headers }) =>
      Number(/"client-cancels"; r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]),
    );
    expect(left[1]).toBe((left[0] ?? 0) - 1);
    for (const { headers } of answers) {
      const names = [...(headers.get('ratelimit-policy') ?? '').matchAll(/"([\w-]+)"/g)].map(([, name]) => name);
      expect(names).toEqual(['client-cancels', 'cancels']);
    }
  });

  test('a request at a limit is not refused for it', async () => {
    const { make, makers, send } = bedOf();
    const hashes = Array.from({ length: limits.cancelsPerDelete }, () => make.order(makers.stranger));
    // A Postgres that has just started does not know yet that a hash is unknown.
    await eventually(async () => codeOf(await send(make.cancel(hashes, makers.stranger))), '200');
    const full = make.post([make.order(makers.maker)]);
    const padding = ' '.repeat(BODY_BYTES_MAX - String(full.body).length);
    const item = JSON.parse((await send({ ...full, body: `${full.body}${padding}` })).body.toString()) as unknown[];
    expect(item).toHaveLength(1);
    // The eighth level is no order.
    const deep = await send({ ...full, body: '['.repeat(8) + ']'.repeat(8) });
    expect(deep.body.toString()).toContain('"pointer":"/0"');
  });

  test('nothing of a refused request is in the log', async () => {
    const bed = bedOf();
    const item = bed.make.order(bed.makers.maker);
    const last = JSON.parse((await bed.send(bed.make.post([item]))).body.toString()) as unknown[];
    expect(last).toHaveLength(1);
    const requests = () =>
      Array.from({ length: Number(bed.stack.operatorEnvironment['PARTITIONS']) }, (_, partition) => [
        ...topics.facts(partition).values(),
      ])
        .flat()
        .flatMap((fact) =>
          'cause' in fact && fact.cause.kind === 'request' ? [{ fact, id: fact.cause.requestId }] : [],
        );
    const hashes = () => requests().flatMap(({ fact }) => ('orderHash' in fact ? [fact.orderHash] : []));
    // Wait for the fact of the last order, and then for a later block in every partition.
    await eventually(async () => hashes().includes(item.orderHash as `0x${string}`), true);
    const block = topics.block() + 2;
    await eventually(async () => topics.block() >= block, true);
    expect(refused.size).toBe(errorRows.length);
    expect(requests().filter(({ id }) => refused.has(id))).toEqual([]);
  });
}

/** Tests that the rows are complete. */
export function testCompleteness(): void {
  test('there is a row for every error of every operation', () => {
    const known = new Set(errorRows.map(({ operation, code }) => `${code} of ${operation}`));
    const wanted = Object.entries({ ...operations, any: { errors: errorsOfAnyRequest } }).flatMap(
      ([operation, { errors }]) => Object.keys(errors).map((code) => `${code} of ${operation}`),
    );
    const isProven = (name: string) =>
      [...known, ...Object.keys(provenElsewhere)].some((proof) => proof === name || name.startsWith(`${proof} of`));
    expect(wanted.filter((name) => !isProven(name))).toEqual([]);
    expect(Object.keys(codes).sort()).toEqual(Object.keys(problemKinds).sort());
  });

  test('what a row cannot provoke is proven where parts are broken', () => {
    for (const [file, title] of Object.values(provenElsewhere)) {
      const path = join(findRoot(), file);
      expect([file, existsSync(path) && readFileSync(path, 'utf8').includes(title)]).toEqual([file, true]);
    }
  });
}

/** Tests the answers while the services are down. */
export function testAbsence(bedOf: () => OpenBed): void {
  test('every operation is unavailable while its service is down', async () => {
    const bed = bedOf();
    const asked = Object.values(goodRequests).map((ask) => ask(bed));
    bed.stack.signal('SIGKILL', 'ingress', 'query', 'feed');
    const answers = await Promise.all(asked.map((each) => bed.send(each)));
    for (const answer of answers) expectProblem(answer, 'unavailable', {});
  });
}
