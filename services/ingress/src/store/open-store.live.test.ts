import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Address } from '@makerbook/contracts-primitives';
import {
  type Cancellation,
  type DecidedRequest,
  type Decision,
  type Placement,
  type Standing,
  spend,
  type Verdict,
} from '@makerbook/domain';
import { addressOf, hashOf } from '@makerbook/domain/testing';
import { until } from '@makerbook/parts';
import { byteaOf, type Query } from '@makerbook/postgres';
import { insertRow, openTestDatabase } from '@makerbook/postgres/testing';
import { decideTogether } from '../decide/decide-together.js';
import { findTogether } from '../decide/find-hashes.js';
import { openStore } from './open-store.js';
import type { Reading, Wanted } from './store.js';

const partition = 3;
const [maker, other] = [addressOf(1), addressOf(2)];
const budget = { ratePerSecond: 0.001, burst: 1000 };

const { owner, postgres, close } = await openTestDatabase('ingress', { looksUpOnly: true });
const store = openStore(postgres);
const newProcess = () => decideTogether(openStore(postgres), () => performance.now());
const decide = newProcess();
const find = findTogether(store);
afterAll(close);
beforeEach(async () => {
  for (const table of ['budgets', 'in_flight', 'cancelling', 'trust', 'hashes', 'orders', 'makers', 'projections'])
    await owner.query(`delete from ${table}`);
  const { sinceMs } = await store.beginTrust();
  await store.endTrust(sinceMs);
  await owner.query('update trust set since_ms = 0');
});

function placing(numbers: readonly number[], limits: Partial<Placement['makers'][number]> = {}): Placement {
  const placingMaker = { maker, partition, budget, openOrdersMax: 1000, nonce: undefined, ...limits };
  const token = { token: addressOf(0xa), amount: 1n };
  const terms = {
    salt: 7n,
    nonce: 0n,
    expiresAt: 99_999_999_999n,
    making: token,
    taking: token,
    permittedTaker: addressOf(0),
  };
  const orders = numbers.map((number) => ({
    orderHash: hashOf(number),
    order: { ...terms, maker: placingMaker.maker },
  }));
  const times = { receivedAtMs: 0, lastsMs: 8_000, validUntilMs: undefined };
  return { kind: 'placement', ...times, makers: [placingMaker], orders, rememberedMax: 10_000_000 };
}

function cancelling(numbers: readonly number[]): Cancellation {
  const hashes = numbers.map((number) => ({ maker, partition, orderHash: hashOf(number), budget }));
  return { kind: 'cancellation', lastsMs: 8_000, hashes, unplaced: [], rememberedMax: 100 };
}

let requests = 0;
const ask = async (request: DecidedRequest, by = decide) => {
  requests += 1;
  return by({ requestId: `r${requests}`, request, receivedAtMs: performance.now() });
};
const told = ({ refusal }: Verdict) => (refusal === undefined ? 'stored' : (refusal.cause ?? refusal.code));
const askOf = async (request: DecidedRequest, by = decide) => told(await ask(request, by));

/** Stores an order as the fold does: it is open, and no longer in flight. */
async function openOrder(number: number): Promise<void> {
  const [orderHash, address] = [byteaOf(hashOf(number)), byteaOf(maker)];
  await owner.query('delete from in_flight where order_hash = $1', [orderHash]);
  await owner.query(
    `insert into orders (order_hash, maker, partition, accepted_offset, accepted_at_ms, expires_at_seconds, making_token,
       making_amount, remaining, is_observed, status, in_book, record_start)
     values ($1, $2, 3, 1, 1, 99999999999, $2, 100, 100, true, 'ACTIVE', true,
       '{"order":{"salt":"0x9","taking":{"token":"0xb"}}')`,
    [orderHash, address],
  );
  await owner.query(
    `insert into hashes (order_hash, maker, partition, state, nonce, expires_at_seconds) values ($1, $2, 3, 'ACCEPTED', 0, 9)`,
    [orderHash, address],
  );
  await owner.query(
    `insert into makers (maker, partition, admission, open_orders, remembered) values ($1, 3, 'ADMITTED', 1, 1)
     on conflict (maker) do update set open_orders = makers.open_orders + 1, remembered = makers.remembered + 1`,
    [address],
  );
}

describe('requests of many processes at once', () => {
  test('for one hash place it once', async () => {
    const processes = [newProcess(), newProcess(), newProcess()];
    const answers = await Promise.all(Array.from({ length: 9 }, (_, n) => askOf(placing([1]), processes[n % 3])));
    expect(answers.sort()).toEqual([...Array(8).fill('in_flight'), 'stored']);
  });

  test('exceed neither the open orders nor the budget of a maker', async () => {
    const processes = [newProcess(), newProcess(), newProcess()];
    const placeAll = async (from: number, limits: Partial<Placement['makers'][number]>) => {
      const all = Array.from({ length: 60 }, (_, n) => askOf(placing([from + n], limits), processes[n % 3]));
      return Object.fromEntries(
        [...Map.groupBy(await Promise.all(all), (one) => one)].map(([kind, of]) => [kind, of.length]),
      );
    };
    expect(await placeAll(100, { openOrdersMax: 20 })).toEqual({ stored: 20, too_many_orders: 40 });
    await owner.query('delete from budgets');
    expect(await placeAll(200, { budget: { ...budget, burst: 15 } })).toEqual({ stored: 15, rate_limited: 45 });
  });

  test('find a hash unknown or place it, but never both', async () => {
    for (let number = 0; number < 60; number += 1) {
      const [[found], placed] = await Promise.all([find([hashOf(number)], true), askOf(placing([number]))]);
      expect(found?.state === 'FOUND' ? placed : [found?.state, placed]).toEqual(
        found?.state === 'FOUND' ? 'stored' : ['UNKNOWN', 'order_cancelled'],
      );
    }
  });
});

const wantedOf = (hashes: readonly number[] = [], replaced: readonly number[] = []): Wanted => ({
  makers: [maker, other].map((each) => ({ maker: each, countExpiredBeyond: 100 })),
  isPlacing: true,
  isInstructing: false,
  isCancellingAll: false,
  hashes: hashes.map((number) => ({ maker, orderHash: hashOf(number) })),
  replaced: replaced.map(hashOf),
});
const chargeOf = (whose: Address, of: 'orders' | 'cancels', { standing, nowMs }: Reading): Decision => {
  const tokens = spend(standing.makers.get(whose)?.[of] ?? { left: undefined, atMs: 0 }, budget, 1, nowMs);
  return { kind: 'charge', maker: whose, of, tokens };
};
const placeOf = (number: number): Decision => {
  return { kind: 'place', maker, partition, orderHash: hashOf(number), salt: '0x7', expiresAtSeconds: 9, untilMs: 9 };
};
const write = (reading: Reading, ...groups: (readonly Decision[])[]) =>
  store.write(
    reading,
    groups.map((decisions) => [{ requestId: 'r', decisions }]),
  );

describe('a write', () => {
  test('is stored for only one of two requests with the same read, even if they are a maker’s first', async () => {
    for (const of of ['orders', 'cancels'] as const) {
      for (let round = 0; round < 2; round += 1) {
        const reading = await store.read(wantedOf());
        expect(await write(reading, [chargeOf(maker, of, reading)])).toEqual([true]);
        expect(await write(reading, [chargeOf(maker, of, reading)])).toEqual([false]);
      }
    }
    const { standing } = await store.read(wantedOf());
    const { orders, cancels } = standing.makers.get(maker) ?? {};
    expect([orders?.left, cancels?.left].map((left) => Math.round(left ?? 0))).toEqual([998, 998]);
  });

  test('for makers that share a request is stored for all or none, and others do not fail with it', async () => {
    const reading = await store.read(wantedOf());
    await write(reading, [chargeOf(other, 'orders', reading)]);
    const both = [chargeOf(maker, 'orders', reading), chargeOf(other, 'orders', reading), placeOf(1)];
    expect(await write(reading, both)).toEqual([false]);
    expect(await write(reading, [chargeOf(maker, 'orders', reading)], [chargeOf(other, 'orders', reading)])).toEqual([
      true,
      false,
    ]);
    expect(await askOf(placing([1]))).toBe('stored');
  });

  test('fails instead of waiting for a lock that another holds', async () => {
    const reading = await store.read(wantedOf());
    await write(reading, [chargeOf(maker, 'orders', reading)]);
    const again = await store.read(wantedOf());
    await store.alone([maker], async () => {
      expect(await write(again, [chargeOf(maker, 'orders', again)])).toEqual([false]);
    });
    expect(await write(again, [chargeOf(maker, 'orders', again)])).toEqual([true]);
  });

  test('fails after a crash, because the trust row or the versions differ', async () => {
    const first = await store.read(wantedOf());
    await write(first, [chargeOf(maker, 'cancels', first)]);
    const reading = await store.read(wantedOf([1]));
    await owner.query('delete from budgets');
    const later = await store.read(wantedOf());
    await write(later, [chargeOf(maker, 'cancels', later)]);
    expect(await write(reading, [chargeOf(maker, 'cancels', reading)])).toEqual([false]);
    await owner.query('update trust set since_ms = 5');
    expect(await write(reading, [chargeOf(maker, 'orders', reading), placeOf(1)])).toEqual([false]);
  });

  test('of an order fails if its hash was noted after the read, and replaces an older note', async () => {
    await store.note([hashOf(1)], 0, 0);
    const reading = await store.read(wantedOf([1, 2]));
    expect(reading.standing.hashes.get(hashOf(1))?.notedUntilMs).toBeGreaterThan(0);
    await store.note([hashOf(2)], 0, 0);
    const decisions = (number: number) => [chargeOf(maker, 'orders', reading), placeOf(number)];
    const alone = [chargeOf(other, 'orders', reading)];
    const [isPlaced, isCharged] = await write(reading, decisions(2), alone);
    expect(isPlaced).toBe(false);
    // Postgres may release the locks of the failed write a moment later. The service then decides again.
    if (isCharged === false) await until('the other is charged', async () => (await write(reading, alone))[0] === true);
    expect(await write(reading, decisions(1))).toEqual([true]);
    const { standing } = await store.read(wantedOf([1, 2]));
    expect(standing.hashes.get(hashOf(1))).toEqual({ inFlight: { expiresAtSeconds: 9 } });
    await store.note([hashOf(1)], 0, 0);
    expect((await store.findHashes([hashOf(1)])).rows[0]?.notedUntilMs).toBeUndefined();
  });

  test('of a replacement fails if its order was filled since the read, or is no longer in flight', async () => {
    await openOrder(1);
    expect(await askOf(placing([2]))).toBe('stored');
    const mark = (number: number, onlyWith: bigint | 'in flight'): Decision => {
      return { kind: 'mark', maker, partition, orderHash: hashOf(number), untilMs: 9, onlyWith };
    };
    const read = () => store.read(wantedOf([1, 2], [1, 2]));
    const replaced = async (reading: Reading) =>
      (await write(reading, [chargeOf(maker, 'cancels', reading), mark(1, 100n), mark(2, 'in flight')]))[0];
    const reading = await read();
    expect(reading.standing.hashes.get(hashOf(1))?.order).toMatchObject({ making: 100n, remaining: 100n });
    await owner.query('update orders set remaining = 40');
    expect(await replaced(reading)).toBe(false);
    await owner.query('update orders set remaining = 100');
    await owner.query('delete from in_flight');
    expect(await replaced(await read())).toBe(false);
    expect(await askOf(placing([2]))).toBe('stored');
    expect(await replaced(await read())).toBe(true);
  });
});

describe('a read', () => {
  const standingOf = async (numbers: readonly number[] = []): Promise<Standing> =>
    (await store.read(wantedOf(numbers))).standing;

  test('counts what is open and in flight, without what is being cancelled', async () => {
    await openOrder(1);
    await ask(placing([2, 3]));
    expect((await standingOf()).makers.get(maker)).toMatchObject({
      open: 1,
      inFlight: 2,
      remembered: 1,
      onTheirWay: 2,
    });
    await ask(cancelling([1, 3]));
    await ask(cancelling([8]));
    await ask({
      ...cancelling([]),
      hashes: [{ maker: other, partition, budget, orderHash: hashOf(1) }],
    } as DecidedRequest);
    const { makers, hashes } = await standingOf([1, 2, 3]);
    expect(makers.get(maker)).toMatchObject({ open: 0, inFlight: 1, remembered: 1, onTheirWay: 3 });
    expect([1, 2, 3].map((number) => Object.keys(hashes.get(hashOf(number)) ?? {}).sort())).toEqual([
      ...[['isCancelling', 'remembered'], ['inFlight'], ['inFlight', 'isCancelling']],
    ]);
    expect(makers.get(other)).toMatchObject({ open: 0, inFlight: 0, remembered: 0, onTheirWay: 1 });
  });

  test('counts expired orders only near the limit', async () => {
    await openOrder(1);
    await owner.query('update orders set expires_at_seconds = 9');
    const read = async (countExpiredBeyond: number) => {
      const makers = [{ maker, countExpiredBeyond }];
      return (await store.read({ ...wantedOf(), makers })).standing.makers.get(maker)?.expired;
    };
    expect([await read(0), await read(1)]).toEqual([1, 0]);
    expect(await askOf(placing([2], { openOrdersMax: 1 }))).toBe('stored');
  });

  test('ignores what somebody else has cancelled', async () => {
    const cancelledBy = async (whose: Address) => {
      await owner.query(
        `insert into hashes (order_hash, maker, partition, state, expires_at_seconds) values ($1, $2, 3, 'CANCELLED', 9)`,
        [byteaOf(hashOf(1)), byteaOf(whose)],
      );
      return (await standingOf([1])).hashes.get(hashOf(1))?.remembered;
    };
    expect([await cancelledBy(other), await cancelledBy(maker)]).toEqual([undefined, 'CANCELLED']);
  });

  test('has the time of the server, and never one before the time of a row', async () => {
    const near = (await store.read(wantedOf())).nowMs - Date.now();
    expect(Math.abs(near)).toBeLessThan(60_000);
    await ask(placing([1]));
    const aheadMs = Date.now() + 3_600_000;
    await owner.query('update budgets set at_ms = $1', [aheadMs]);
    expect((await store.read(wantedOf())).nowMs).toBe(aheadMs);
  });

  test('of hashes or salts finds the orders that are open, in flight or unfolded', async () => {
    await openOrder(1);
    await ask(placing([2]));
    await owner.query(
      `insert into hashes (order_hash, maker, partition, state, salt, nonce, expires_at_seconds) values ($1, $2, 3, 'UNFOLDED', '0x5', 0, 9)`,
      [byteaOf(hashOf(3)), byteaOf(maker)],
    );
    const found = await find([2, 1, 3, 4].map(hashOf), false);
    expect(found.map((one) => (one.state === 'FOUND' ? [one.salt, one.isInFlight] : one.state))).toEqual([
      ...[['0x7', true], ['0x9', false], ['0x5', false], 'UNSURE'],
    ]);
    expect(await find([hashOf(4), hashOf(1)], true)).toMatchObject([{ state: 'UNKNOWN' }, { state: 'FOUND' }]);

    const salts = ['0x5', '0x7', '0x9', '0x1'] as const;
    const findSalts = async (untilMs = Date.now() + 60_000, by = maker) => {
      const orders = await store.findBySalts({ maker: by, salts, untilMs, lastsMs: 8_000 });
      return orders === 'untrusted' ? orders : orders.map(({ orderHash, salt }) => [Number(orderHash), salt]);
    };
    expect(await findSalts()).toEqual([
      [1, '0x9'],
      [2, '0x7'],
      [3, '0x5'],
    ]);
    // Orders that were accepted later are left out: the one in flight a moment ago, the open one at 1.
    expect(await findSalts(Date.now() - 60_000)).toEqual([
      [1, '0x9'],
      [3, '0x5'],
    ]);
    expect(await findSalts(0)).toEqual([[3, '0x5']]);
    expect(await findSalts(undefined, other)).toEqual([]);
    await owner.query('update trust set is_trusted = false');
    expect(await findSalts()).toBe('untrusted');
  });
});

test('a release removes what its request has stored, and nothing of another request', async () => {
  const { decisions } = await ask(placing([1]));
  expect(decisions).toHaveLength(2);
  await store.release('another', [hashOf(1)], [hashOf(1)]);
  await store.release(`r${requests - 1}`, [], [hashOf(1)]);
  expect(await askOf(placing([1]))).toBe('in_flight');
  await store.release(`r${requests - 1}`, [hashOf(1)], []);
  expect(await askOf(placing([1]))).toBe('stored');
});

test('old notes are forgotten, and newer ones stay', async () => {
  await store.note([hashOf(1)], 0, 0);
  const isNoted = async () => (await store.findHashes([hashOf(1)])).rows[0]?.notedUntilMs !== undefined;
  await store.forgetNotes(60_000);
  expect(await isNoted()).toBe(true);
  await owner.query('update in_flight set until_ms = until_ms - 61000');
  await store.forgetNotes(60_000);
  expect(await isNoted()).toBe(false);
});

test('all old notes are deleted, even more than one statement deletes', async () => {
  await owner.query(`insert into in_flight (order_hash, until_ms) select decode(lpad(to_hex(n), 64, '0'), 'hex'), 1
    from generate_series(1, 50000) as n`);
  await store.note([hashOf(1_000_000)], 0, 0);
  await store.forgetNotes(60_000);
  const [{ count } = { count: 0n }] = await owner.query<{ count: bigint }>('select count(*) from in_flight');
  expect(Number(count)).toBe(1);
});

describe('a server that may have lost something', () => {
  test('decides nothing until it is trusted again, and never what came before that', async () => {
    await owner.query('delete from trust');
    expect(await askOf(placing([1]))).toBe('untrusted');
    expect(await find([hashOf(1)], true)).toEqual([{ state: 'UNSURE' }]);
    const { sinceMs, isTrusted } = await store.beginTrust();
    expect([isTrusted, await store.beginTrust()]).toEqual([false, { sinceMs, isTrusted }]);
    await store.endTrust(sinceMs);
    await owner.query('update trust set since_ms = since_ms + 20000');
    expect(await askOf(placing([1]))).toBe('untrusted');
    await owner.query('update trust set since_ms = 0');
    expect(await askOf(placing([1]))).toBe('stored');
  });

  test.each([
    ['was restarted cleanly', `started_at = started_at - interval '1 s'`],
    ['has a dump of another server', 'table_id = 1'],
  ])('because it %s is trusted once the log is folded, since the same time as before', async (_what, change) => {
    await owner.query(`update trust set ${change}, since_ms = 7`);
    expect(await askOf(placing([1]))).toBe('untrusted');
    expect(await store.beginTrust()).toEqual({ sinceMs: 7, isTrusted: false });
    await store.endTrust(7);
    expect(await askOf(placing([1]))).toBe('stored');
  });
});

test.each([
  ['that nobody has placed', [], true],
  ['that was only VALIDATING', ['OPENED VALIDATING', 'REMOVED VALIDATING'], true],
  ['that was judged', ['OPENED VALIDATING', 'CHANGED INACTIVE', 'REMOVED INACTIVE'], false],
  ['that was judged and waits again', ['OPENED VALIDATING', 'CHANGED ACTIVE', 'CHANGED VALIDATING'], false],
  ['whose opening is pruned', ['REMOVED VALIDATING'], false],
] as const)('the book never had an order %s: %s', async (_what, rows, expected) => {
  await owner.query('delete from order_history');
  for (const [offset, row] of rows.entries()) {
    const [happened, status] = row.split(' ');
    const reason = happened === 'REMOVED' ? 'CANCELLED' : null;
    const of = { order_hash: hashOf(1), maker, log_offset: offset, happened, status, reason };
    await insertRow(owner, 'order_history', of);
  }
  expect(await store.wereNeverInBook([hashOf(2), hashOf(1)])).toBe(expected);
});

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly Plan[];
}

test('every look-up uses an index, whatever the size of the tables', async () => {
  const statements = new Map<string, string>();
  const noting: Query = (text, values, name) => {
    if (!text.startsWith('set ')) statements.set(name ?? text, text);
    return postgres.query(text, values, name);
  };
  const noted = openStore({ query: noting, transaction: (work) => postgres.transaction(() => work(noting)) });
  await openOrder(1);
  await openOrder(2);
  const by = decideTogether(noted, () => performance.now());
  const placement = placing([3]);
  const own = { lastsMs: 9, budget, maker, partition, mark: hashOf(9) };
  const all: DecidedRequest[] = [
    placement,
    cancelling([1]),
    {
      ...cancelling([]),
      unplaced: [{ maker, partition, orderHash: hashOf(7), budget, ordersBudget: budget }],
    } as DecidedRequest,
    {
      kind: 'replacement',
      placement: placing([4]),
      cancels: [{ maker, partition, orderHash: hashOf(2), budget }],
      expected: [{ orderHash: hashOf(2) }],
    },
    { kind: 'cancel-all', ...own, scope: { untilMs: Date.now() } },
    {
      kind: 'instruction',
      ...own,
      instruction: { subject: 'switch', issuedAtMs: 1, terms: { cancelAt: 0 } },
      isRepeat: false,
    },
  ];
  for (const request of all) expect(await askOf(request, by)).toBe('stored');
  await findTogether(noted)([hashOf(1), hashOf(20)], true);
  await noted.wereNeverInBook([hashOf(1)]);
  await noted.findBySalts({ maker, salts: ['0x9'], untilMs: 1, lastsMs: 1 });
  await owner.query('update in_flight set until_ms = 1 where maker is null');
  expect(await askOf(placing([20]), by)).toBe('stored');
  await noted.alone([maker], async () => undefined);
  await noted.release('r', [hashOf(1)], [hashOf(1)]);
  // The read for requests of several kinds that share a statement.
  await noted.read({ ...wantedOf([5], [6]), isInstructing: true, isCancellingAll: true });
  await noted.forgetNotes(0);
  await noted.endTrust((await noted.beginTrust()).sinceMs);
  expect(statements.size).toBeGreaterThan(17);
  const scans: string[] = [];
  const visit = (name: string, plan: Plan) => {
    const { 'Node Type': type, 'Relation Name': table } = plan;
    const isLookUp = plan['Index Cond'] !== undefined || !type.endsWith('Scan') || table === 'trust';
    if (table !== undefined && !isLookUp) scans.push(`${name}: ${type} of ${table}`);
    for (const part of plan.Plans ?? []) visit(name, part);
  };
  for (const [name, text] of statements) {
    const [row] = await postgres.query<{ 'QUERY PLAN': readonly { readonly Plan: Plan }[] }>(
      `explain (generic_plan, format json) ${text}`,
    );
    for (const { Plan: plan } of row?.['QUERY PLAN'] ?? []) visit(name, plan);
  }
  expect(scans).toEqual([]);
});
