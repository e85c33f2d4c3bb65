import { expect, test } from '@jest/globals';
import type { DecidedRequest } from '@makerbook/domain';
import { addressOf, hashOf } from '@makerbook/domain/testing';
import { PostgresUnavailable } from '@makerbook/postgres';
import type { Group, Wanted } from '../store/store.js';
import { holdTestStore } from '../testing/hold-test-store.js';
import { type Decided, decideTogether } from './decide-together.js';

const NOW_MS = 1_000_000;
const budget = { ratePerSecond: 1, burst: 3 };

function placing(number: number, ...makers: readonly number[]): DecidedRequest {
  const token = { token: addressOf(9), amount: 1n };
  const terms = { salt: 1n, nonce: 0n, expiresAt: 9_999n, making: token, taking: token, permittedTaker: addressOf(0) };
  const orders = makers.map((n, at) => ({ orderHash: hashOf(number + at), order: { ...terms, maker: addressOf(n) } }));
  const limits = makers.map((n) => ({ maker: addressOf(n), partition: 0, budget, openOrdersMax: 9, nonce: undefined }));
  const times = { receivedAtMs: 0, lastsMs: 1, validUntilMs: undefined };
  return { kind: 'placement', ...times, makers: limits, orders, rememberedMax: 99 };
}

function cancelling(number: number, maker: number): DecidedRequest {
  const hashes = [{ maker: addressOf(maker), partition: 0, orderHash: hashOf(number), budget }];
  return { kind: 'cancellation', lastsMs: 1, hashes, unplaced: [], rememberedMax: 9 };
}

/** A store that notes what is read and written. Its first read waits for `letGo`. */
function open() {
  const { held, store } = holdTestStore(() => NOW_MS);
  const reads: Wanted[] = [];
  const writes: (readonly Group[])[] = [];
  const { promise: gate, resolve: letGo } = Promise.withResolvers<void>();
  const refuses = { write: (_groups: readonly Group[]): readonly boolean[] | undefined => undefined };
  const read = async (wanted: Wanted) => {
    reads.push(wanted);
    if (reads.length === 1) await gate;
    return store.read(wanted);
  };
  const write: typeof store.write = async (reading, groups) => {
    writes.push(groups);
    return refuses.write(groups) ?? store.write(reading, groups);
  };
  const decide = decideTogether({ ...store, read, write, alone: (_, work) => work({ read, write }) }, () => NOW_MS);
  const askOld = (request: DecidedRequest, ageMs: number) =>
    decide({ requestId: request.kind, request, receivedAtMs: NOW_MS - ageMs }).then(told, (error: Error) => error.name);
  const ask = (request: DecidedRequest) => askOld(request, 0);
  return { held, reads, writes, refuses, letGo, ask, askOld };
}

const told = ({ refusal }: Decided) => refusal?.code ?? 'stored';
const sizes = (writes: readonly (readonly Group[])[]) => writes.map((groups) => groups.map((group) => group.length));

test('waiting requests share one read and one write, and each builds on the one before it', async () => {
  const { reads, writes, letGo, ask } = open();
  const answers = [1, 2, 3, 4, 5].map((number) => ask(placing(number, 1)));
  letGo();
  expect(await Promise.all(answers)).toEqual(['stored', 'stored', 'stored', 'rate_limited', 'rate_limited']);
  expect(reads.map(({ hashes }) => hashes.length)).toEqual([1, 4]);
  expect(sizes(writes)).toEqual([[1], [2]]);
});

test('a small request waits for the oldest one, and not for all large ones', async () => {
  const { reads, letGo, ask } = open();
  const large = (n: number) => placing(1_000 * n, ...Array<number>(100).fill(8));
  const answers = [placing(1, 9), ...[1, 2, 3, 4, 5, 6].map(large), placing(2, 7)].map(ask);
  letGo();
  await Promise.all(answers);
  const [, second] = reads.map(({ hashes }) => hashes.map(({ orderHash }) => orderHash));
  expect(second).toEqual(expect.arrayContaining([hashOf(1_000), hashOf(2)]));
  expect(second).not.toContain(hashOf(6_000));
});

test('makers that are linked by requests are one group, and other makers are not in it', async () => {
  const { writes, letGo, ask } = open();
  const answers = [placing(1, 9), placing(2, 1, 2), placing(4, 3), placing(5, 2, 4), placing(7, 4)].map(ask);
  letGo();
  await Promise.all(answers);
  expect(sizes(writes)[1]?.sort()).toEqual([1, 3]);
});

test('if a group cannot be written, all its requests are decided again, refusals too, and no others', async () => {
  const { held, writes, refuses, letGo, ask } = open();
  held.set(addressOf(1), { orders: { left: 1, atMs: NOW_MS } });
  const answers = [placing(1, 9), placing(2, 1), placing(3, 1), placing(4, 2)].map(ask);
  refuses.write = (groups) => {
    if (groups.length !== 2) return undefined;
    // Another process has filled the budget meanwhile.
    held.set(addressOf(1), { orders: { left: 2, atMs: NOW_MS } });
    refuses.write = () => undefined;
    return [false, true];
  };
  letGo();
  expect(await Promise.all(answers)).toEqual(['stored', 'stored', 'stored', 'stored']);
  expect(sizes(writes)).toEqual([[1], [1, 1], [2]]);
});

test('a refusal based only on what was read is final, and nothing is written', async () => {
  const { held, writes, letGo, ask } = open();
  held.set(addressOf(1), { orders: { left: 0, atMs: NOW_MS } });
  letGo();
  expect(await ask(placing(1, 1))).toBe('rate_limited');
  expect(writes).toEqual([]);
});

test('a request keeps its time of receipt even if a row is later than the clock of the store', async () => {
  const { held, letGo, askOld } = open();
  letGo();
  held.rowsAheadMs = 100;
  held.hashes.set(hashOf(1), { notedUntilMs: NOW_MS - 5 });
  expect(await askOld(placing(1, 1), 10)).toBe('order_cancelled');
  expect(await askOld(placing(1, 1), 4)).toBe('stored');
});

test('a cancellation does not wait for orders', async () => {
  const { letGo, ask } = open();
  const placed = ask(placing(1, 1));
  expect(await ask(cancelling(2, 1))).toBe('stored');
  letGo();
  expect(await placed).toBe('stored');
});

test('a write of unknown outcome fails its request, which is not decided again', async () => {
  const { writes, refuses, letGo, ask } = open();
  refuses.write = () => {
    throw new PostgresUnavailable('no answer');
  };
  letGo();
  expect(await ask(placing(1, 1))).toBe('PostgresUnavailable');
  expect(writes).toHaveLength(1);
});
