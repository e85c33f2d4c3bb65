import { describe, expect, test } from '@jest/globals';
import { openPlacementStore, type PlaceRequest } from './decide-requests.js';
import { PostgresUnavailable } from './failures.js';
import { addressOf, hashOf } from './testing/open-test-database.js';

const VALUES_PER_REQUEST = 16;

function requestOf(maker: number, makers = 1): PlaceRequest {
  return {
    nowMs: 0,
    receivedAtMs: maker,
    lastsMs: 0,
    makers: Array.from({ length: makers }, (_, index) => ({
      maker: addressOf(maker + index),
      partition: 0,
      budget: { ratePerSecond: 1, burst: 1 },
      openOrdersMax: 1,
    })),
    orders: [],
    rememberedMax: 1,
    chargeOnly: false,
    firstRepeatAt: undefined,
  };
}

/** A Postgres that answers when it is told to. */
function heldPostgres() {
  const statements: Statement[] = [];
  const query = (_text: string, values: readonly unknown[], name: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const settle = (answer: () => void) => {
      answer();
      return new Promise<void>((done) => setImmediate(done));
    };
    // Each request to place has the time at which it was received as its number.
    const requests = values.filter((_, index) => index % VALUES_PER_REQUEST === 1) as number[];
    const placed = requests.map((number) => ({ outcome: 'placed', at: null, figure: 0n, remaining: [number] }));
    const answer = (rows: unknown = placed) => settle(() => resolve(rows));
    statements.push({ name, values, requests, answer, fail: (error) => settle(() => reject(error)) });
    return promise;
  };
  return { statements, store: openPlacementStore({ query: query as never }) };
}

interface Statement {
  readonly name: string;
  readonly values: readonly unknown[];
  readonly requests: readonly number[];
  answer(rows?: unknown): Promise<void>;
  fail(error: Error): Promise<void>;
}

const race = () => new PostgresUnavailable('raced', { cause: Object.assign(new Error('raced'), { code: '40001' }) });

describe('small requests that arrive while another is decided', () => {
  test('share the next statement, in the order of their makers, and each has its own outcome', async () => {
    const { statements, store } = heldPostgres();
    const placed = [5, 9, 7].map((maker) => store.place(requestOf(maker)));
    await statements[0]?.answer();
    expect(statements.map(({ requests }) => requests)).toEqual([[5], [7, 9]]);
    await statements[1]?.answer();
    const remaining = (await Promise.all(placed)).map((outcome) => 'remaining' in outcome && outcome.remaining);
    expect(remaining).toEqual([[5], [9], [7]]);
  });

  test('are a power of two in a statement, at most 64', async () => {
    const { statements, store } = heldPostgres();
    for (let maker = 0; maker < 104; maker += 1) void store.place(requestOf(maker));
    for (const index of [0, 1, 2, 3, 4, 5]) await statements[index]?.answer();
    expect(statements.map(({ requests }) => requests.length)).toEqual([1, 64, 32, 4, 2, 1]);
  });

  test('do not wait where they are of several makers', async () => {
    const { statements, store } = heldPostgres();
    for (const makers of [1, 2, 2]) void store.place(requestOf(1, makers));
    expect(statements).toHaveLength(3);
    for (const { answer } of statements) await answer();
  });

  test('are decided alone where one of them races another process', async () => {
    const { statements, store } = heldPostgres();
    const placed = [1, 2, 3].map((maker) => store.place(requestOf(maker)));
    await statements[0]?.answer();
    await statements[1]?.fail(race());
    expect(statements.slice(2).map(({ requests }) => requests)).toEqual([[2], [3]]);
    for (const { answer } of statements.slice(2)) await answer();
    expect((await Promise.all(placed)).map(({ kind }) => kind)).toEqual(['placed', 'placed', 'placed']);
  });

  test('fail at once where Postgres is away, and the next one is sent', async () => {
    const { statements, store } = heldPostgres();
    const failed = [1, 2, 3].map((maker) => store.place(requestOf(maker)).catch((error: unknown) => error));
    await statements[0]?.fail(new PostgresUnavailable('away'));
    expect(await Promise.all(failed)).toEqual(Array(3).fill(new PostgresUnavailable('away')));
    void store.place(requestOf(4));
    expect(statements.map(({ requests }) => requests)).toEqual([[1], [4]]);
    await statements[1]?.answer();
  });
});

describe('small cancellations that arrive while others are decided', () => {
  test('are looked up by one statement at the newest time, and each gets its own', async () => {
    const { statements, store } = heldPostgres();
    const found = [[1], [2, 3], [4]].map((hashes, n) => store.findOrders(hashes.map(hashOf), 10 - n, true));
    const unnoted = store.findOrders([hashOf(5)], 20, false);
    await statements[0]?.answer([{ state: 'GONE' }]);
    expect(statements[1]?.values.slice(0, 2)).toEqual([9, true]);
    await statements[1]?.answer([{ state: 'GONE' }, { state: 'UNKNOWN' }, { state: 'UNSURE' }]);
    expect(await Promise.all(found)).toEqual([
      [{ state: 'GONE' }],
      [{ state: 'GONE' }, { state: 'UNKNOWN' }],
      [{ state: 'UNSURE' }],
    ]);
    expect(statements[2]?.values.slice(0, 2)).toEqual([20, false]);
    await statements[2]?.answer([{ state: 'UNSURE' }]);
    expect(await unnoted).toEqual([{ state: 'UNSURE' }]);
  });

  test('leave a look-up of many hashes to the next statement', async () => {
    const { statements, store } = heldPostgres();
    for (const count of [1, 60, 5, 100])
      void store.findOrders(
        Array.from({ length: count }, (_, n) => hashOf(n)),
        0,
        true,
      );
    for (const [index, count] of [1, 60, 5, 100].entries())
      await statements[index]?.answer(Array(count).fill({ state: 'GONE' }));
    expect(statements).toHaveLength(4);
  });

  test('are marked by one statement, each as its budget allows', async () => {
    const { statements, store } = heldPostgres();
    const mark = (maker: number) =>
      store.markCancelling({ ...requestOf(maker), budget: { ratePerSecond: 1, burst: 1 }, hashes: [] });
    const marked = [5, 9, 7].map(mark);
    await statements[0]?.answer([{ refused: 0, figure: 8n, remaining: [3] }]);
    await statements[1]?.answer([
      { refused: 1, figure: 400n, remaining: [0] },
      { refused: 0, figure: 9n, remaining: [2] },
    ]);
    expect(statements.map(({ name }) => name)).toEqual(['mark_cancelling 1', 'mark_cancelling 2']);
    expect(await Promise.all(marked)).toEqual([
      { kind: 'marked', untilMs: 8, remaining: [3] },
      { kind: 'marked', untilMs: 9, remaining: [2] },
      { kind: 'rate_limited', makerIndex: 0, retryAfterMs: 400, remaining: [0] },
    ]);
  });
});
