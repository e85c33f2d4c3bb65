import { describe, expect, test } from '@jest/globals';
import { openPlacementStore, type PlaceRequest } from './decide-requests.js';
import { PostgresUnavailable } from './failures.js';
import { addressOf, hashOf } from './testing/open-test-database.js';

const VALUES_PER_REQUEST = 17;

/** Its number is the time at which it was received, and the hash of its order. */
function requestOf(number: number, maker = number, makers = 1): PlaceRequest {
  return {
    nowMs: 0,
    receivedAtMs: number,
    lastsMs: 0,
    makers: Array.from({ length: makers }, (_, index) => ({
      maker: addressOf(maker + index),
      partition: 0,
      budget: { ratePerSecond: 1, burst: 1 },
      openOrdersMax: 1,
    })),
    orders: [{ orderHash: hashOf(number), makerIndex: 0, salt: '0x1', nonce: 0n, expiresAtSeconds: 1 }],
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
    const valuesAt = (place: number) => values.filter((_, index) => index % VALUES_PER_REQUEST === place);
    const makers = valuesAt(6) as string[][];
    const placed = makers.map((of) => ({ outcome: 'placed', at: null, figure: 0n, remaining: of.map(() => 10) }));
    const answer = (rows: unknown = placed) => settle(() => resolve(rows));
    const received = valuesAt(1) as number[];
    const fail = (error: unknown) => settle(() => reject(error));
    statements.push({ name, values, received, makers: makers.map((of) => of.length), answer, fail });
    return promise;
  };
  return { statements, store: openPlacementStore({ query: query as never }) };
}

interface Statement {
  readonly name: string;
  readonly values: readonly unknown[];
  /** When each of its requests was received. */
  readonly received: readonly number[];
  /** How many makers each has. */
  readonly makers: readonly number[];
  answer(rows?: unknown): Promise<void>;
  fail(error: Error): Promise<void>;
}

const race = () => new PostgresUnavailable('raced', { cause: Object.assign(new Error('raced'), { code: '40001' }) });

const refused = [{ outcome: 'rate_limited', at: 0, figure: 5n, remaining: [1, 2] }];

describe('small requests that arrive while another is decided', () => {
  test.each<[string, Partial<PlaceRequest>]>([
    ['has failed a later check', { chargeOnly: true }],
    ['repeats a hash of its own', { firstRepeatAt: 0 }],
    ['repeats a hash of another', { orders: requestOf(7).orders }],
  ])('are decided each for itself where one of them %s', async (_why, given) => {
    const { statements, store } = heldPostgres();
    void store.place(requestOf(1));
    void store.place(requestOf(7));
    void store.place({ ...requestOf(9), ...given });
    for (const index of [0, 1]) await statements[index]?.answer();
    expect(statements.map(({ received }) => received)).toEqual([[1], [7, 9]]);
  });

  test('are 64 at most, and decided each for itself a power of two in a statement', async () => {
    const { statements, store } = heldPostgres();
    const placed = Array.from({ length: 76 }, (_, maker) => store.place(requestOf(maker)));
    for (const index of [0, 1]) await statements[index]?.answer();
    await statements[2]?.answer(refused);
    for (const index of [3, 4, 5]) await statements[index]?.answer();
    expect(statements.map(({ makers }) => makers)).toEqual([[1], [64], [11], Array(8).fill(1), Array(2).fill(1), [1]]);
    expect((await Promise.all(placed)).every(({ kind }) => kind === 'placed')).toBe(true);
  });

  test('are decided alone where one of them races another process', async () => {
    const { statements, store } = heldPostgres();
    const placed = [1, 2, 3].map((maker) => store.place(requestOf(maker)));
    await statements[0]?.answer();
    await statements[1]?.fail(race());
    expect(statements.slice(2).map(({ received }) => received)).toEqual([[2], [3]]);
    for (const { answer } of statements.slice(2)) await answer();
    expect((await Promise.all(placed)).map(({ kind }) => kind)).toEqual(['placed', 'placed', 'placed']);
  });

  test('fail at once where Postgres is away, and the next one is sent', async () => {
    const { statements, store } = heldPostgres();
    const failed = [1, 2, 3].map((maker) => store.place(requestOf(maker)).catch((error: unknown) => error));
    await statements[0]?.fail(new PostgresUnavailable('away'));
    expect(await Promise.all(failed)).toEqual(Array(3).fill(new PostgresUnavailable('away')));
    void store.place(requestOf(4));
    expect(statements.map(({ received }) => received)).toEqual([[1], [4]]);
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

  test('are marked as one, else each as its budget allows', async () => {
    const { statements, store } = heldPostgres();
    const mark = (maker: number, isFirst = false) =>
      store.markCancelling({ ...requestOf(maker), budget: { ratePerSecond: 1, burst: 1 }, hashes: [], isFirst });
    const marked = [mark(5), mark(9), mark(7), mark(8, true), mark(6)];
    await statements[0]?.answer([{ refused: 0, figure: 8n, remaining: [3] }]);
    await statements[1]?.answer([
      { refused: -1, figure: 0n, remaining: [7] },
      { refused: 0, figure: 9n, remaining: [6] },
      { refused: 0, figure: 9n, remaining: [5] },
      { refused: 1, figure: 400n, remaining: [0] },
    ]);
    const more = [mark(2), mark(1), mark(3)];
    await statements[2]?.answer([{ refused: 0, figure: 8n, remaining: [3] }]);
    await statements[3]?.answer([{ refused: 0, figure: 8n, remaining: [1, 3] }]);
    const names = [1, 4, 1, 1].map((count) => `mark_cancelling ${count}`);
    expect(statements.map(({ name }) => name)).toEqual(names);
    expect(await Promise.all([...marked, ...more])).toEqual([
      { kind: 'marked', untilMs: 8, remaining: [3] },
      { kind: 'rate_limited', makerIndex: 0, retryAfterMs: 400, remaining: [0] },
      { kind: 'marked', untilMs: 9, remaining: [6] },
      { kind: 'marked', untilMs: 9, remaining: [5] },
      { kind: 'marked_already', remaining: [7] },
      { kind: 'marked', untilMs: 8, remaining: [3] },
      { kind: 'marked', untilMs: 8, remaining: [1] },
      { kind: 'marked', untilMs: 8, remaining: [3] },
    ]);
  });
});
