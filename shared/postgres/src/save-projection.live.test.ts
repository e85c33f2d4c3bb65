import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { testParts } from '@makerbook/parts';
import {
  connectPostgres,
  findEnded,
  findKnownHashes,
  findOrders,
  type HistoryRow,
  InvariantBroken,
  loadReservations,
  migrate,
  type OrderRow,
  PositionTaken,
  type Postgres,
  type ProjectionCommit,
  readMakers,
  readProjection,
  saveProjection,
  takeProjection,
  tryProjection,
} from './index.js';
import { hashReadModel } from './testing/index.js';

const maker: Hex = `0x${'a1'.repeat(20)}`;
const token: Hex = `0x${'b2'.repeat(20)}`;
const hashOf = (number: number): Hex => `0x${number.toString(16).padStart(64, '0')}`;
const uint256Max = (2n ** 256n - 1n).toString();

function order(number: number, changed: Partial<OrderRow> = {}): OrderRow {
  const orderHash = hashOf(number);
  return {
    orderHash,
    maker,
    acceptedOffset: BigInt(number),
    acceptedAtMs: 1_700_000_000_000,
    expiresAtSeconds: 1_700_000_100,
    makingToken: token,
    makingAmount: uint256Max,
    remaining: uint256Max,
    isObserved: false,
    status: 'VALIDATING',
    reason: null,
    inBook: true,
    recordStart: `{"order":{"salt":"0x${number.toString(16)}"},"orderHash":"${orderHash}","signature":"0x"`,
    ...changed,
  };
}

function history(row: OrderRow, happened: HistoryRow['happened'], offset: bigint, reason: string | null): HistoryRow {
  const { orderHash, status, remaining, expiresAtSeconds } = row;
  const expiry = happened === 'OPENED' ? expiresAtSeconds : null;
  return { logOffset: offset, orderHash, maker, happened, status, reason, remaining, expiresAtSeconds: expiry };
}

/** From one offset to another. The version counts the commits that were made before. */
function commit(version: number, from: bigint, to: bigint, changed: Partial<ProjectionCommit> = {}): ProjectionCommit {
  return {
    partition: 3,
    version: BigInt(version),
    from,
    to,
    isBlockBegun: false,
    clock: { block: -1, seconds: 0 },
    makers: [],
    funding: [],
    fundingDropped: [],
    opened: [],
    changed: [],
    removed: [],
    history: [],
    cancelledHashes: [],
    ...changed,
  };
}

const makerRow = {
  maker,
  admission: 'ADMITTED',
  limits: { openOrdersMax: 5, ordersBurst: 7 },
  nonce: '7',
  nonceBlock: 5,
  dueAtSeconds: 1_000,
  quarantinedOffset: null,
  quarantineReason: null,
  quarantineClock: null,
};
const fundingRow = { maker, token, balance: uint256Max, allowance: '0', block: 5, openOrders: 2 };
const clock = { block: 9, seconds: 99 };
const opening = commit(0, 0n, 10n, {
  makers: [makerRow],
  funding: [fundingRow],
  opened: [order(2), order(1)],
  history: [history(order(1), 'OPENED', 1n, null), history(order(2), 'OPENED', 2n, null)],
  clock,
});

let postgres: Postgres;
beforeEach(async () => {
  const url = await testParts().databaseUrl();
  await migrate({ url });
  postgres = connectPostgres({ url, connectTimeoutMs: 60_000, statementTimeoutMs: 60_000 });
  await postgres.query('insert into projections (partition) values (3)');
});
afterEach(() => postgres.close());

const positionOf = async (partition: number) => (await readProjection(postgres, partition)).nextOffset;
const dueIn = async (partition: number) => (await takeProjection(postgres, partition)).due;

describe('a commit', () => {
  test('stores rows and position together, and all of it reads back without loss', async () => {
    await saveProjection(postgres, opening);
    expect(await readMakers(postgres, 3, [maker])).toEqual({
      makers: [makerRow],
      funding: [fundingRow],
      orders: [order(1), order(2)],
      versions: [1n, 1n, 1n],
    });
    expect(await readProjection(postgres, 3)).toEqual({
      nextOffset: 10n,
      isBlockBegun: false,
      clock,
      version: 1n,
    });
    expect(await dueIn(3)).toEqual([{ maker, dueAtSeconds: 1_000, openOrders: 2 }]);
    expect(await dueIn(4)).toEqual([]);
  });

  test('is told by the version of what is read, also of nothing', async () => {
    const nobody = `0x${'9'.repeat(40)}` as const;
    const read = async () => {
      const { versions, ...rows } = await readMakers(postgres, 3, [nobody]);
      expect(rows).toEqual({ makers: [], funding: [], orders: [] });
      return [...versions, ...(await findKnownHashes(postgres, 3, [order(8)])).versions];
    };
    expect(await read()).toEqual([0n, 0n, 0n, 0n]);
    await saveProjection(postgres, opening);
    expect(await read()).toEqual([1n, 1n, 1n, 1n]);
    const { version } = (await takeProjection(postgres, 3)).projection;
    expect(await read()).toEqual([version, version, version, version]);
  });

  test('changes, removes and drops rows', async () => {
    await saveProjection(postgres, opening);
    const state = {
      remaining: '1',
      isObserved: true,
      status: 'INACTIVE',
      reason: 'INSUFFICIENT_BALANCE',
      inBook: false,
    };
    await saveProjection(
      postgres,
      commit(1, 10n, 11n, {
        makers: [{ ...makerRow, dueAtSeconds: null }],
        fundingDropped: [{ maker, token }],
        changed: [{ orderHash: hashOf(1), ...state }],
        removed: [hashOf(2)],
        history: [history(order(2), 'REMOVED', 10n, 'FILLED')],
      }),
    );
    expect(await readMakers(postgres, 3, [maker])).toEqual({
      makers: [{ ...makerRow, dueAtSeconds: null }],
      funding: [],
      orders: [order(1, state)],
      versions: [2n, 2n, 2n],
    });
    expect(await dueIn(3)).toEqual([]);
  });

  test('from a position that is not the stored one writes nothing', async () => {
    const before = await hashReadModel(postgres);
    for (const other of [{ from: 1n }, { partition: 4 }, { version: 1n }]) {
      await expect(saveProjection(postgres, { ...opening, ...other })).rejects.toThrow(PositionTaken);
    }
    expect(await hashReadModel(postgres)).toEqual(before);
    expect(await positionOf(3)).toBe(0n);
  });

  test('that several make at once is made by one of them', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 6 }, () => saveProjection(postgres, opening)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(PositionTaken);
    }
  });

  test('of an owner from whom the partition was taken writes nothing, though the rows are where it left them', async () => {
    const { projection: earlier } = await takeProjection(postgres, 3);
    const { projection: later } = await takeProjection(postgres, 3);
    expect(later).toEqual({ ...earlier, version: expect.anything() });
    expect(later.version).toBeGreaterThan(earlier.version);
    await expect(saveProjection(postgres, { ...opening, version: earlier.version })).rejects.toThrow(PositionTaken);
    await saveProjection(postgres, { ...opening, version: later.version });
    expect(await positionOf(3)).toBe(10n);
    expect((await takeProjection(postgres, 4)).projection.nextOffset).toBe(0n);
  });

  test('of an owner from before the rows fell back is refused, whoever has taken them since', async () => {
    const { projection: earlier } = await takeProjection(postgres, 3);
    await postgres.query('update projections set version = 0 where partition = 3');
    await takeProjection(postgres, 3);
    await expect(saveProjection(postgres, { ...opening, version: earlier.version })).rejects.toThrow(PositionTaken);
  });

  test('of a part of a block is made by one of several, also where the part led to no message', async () => {
    await saveProjection(postgres, opening);
    const part = (number: number) =>
      commit(number, 10n, 10n, {
        isBlockBegun: true,
        removed: [hashOf(number)],
        history: [history(order(number), 'REMOVED', 10n, 'EXPIRED')],
      });
    for (const number of [1, 2]) {
      const owners = await Promise.allSettled(Array.from({ length: 4 }, () => saveProjection(postgres, part(number))));
      expect(owners.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const owner of owners) if (owner.status === 'rejected') expect(owner.reason).toBeInstanceOf(PositionTaken);
      expect(await readProjection(postgres, 3)).toMatchObject({ nextOffset: 10n, isBlockBegun: true });
    }
    await saveProjection(postgres, commit(3, 10n, 11n));
    expect(await readProjection(postgres, 3)).toMatchObject({ nextOffset: 11n, isBlockBegun: false });
  });

  test('quarantines a maker: nothing of it is due, and the row says from where on and why', async () => {
    await saveProjection(postgres, opening);
    const quarantined = {
      ...makerRow,
      dueAtSeconds: null,
      quarantinedOffset: 10n,
      quarantineReason: 'a reason',
      quarantineClock: clock,
    };
    await saveProjection(postgres, commit(1, 10n, 11n, { makers: [quarantined] }));
    expect((await readMakers(postgres, 3, [maker])).makers).toEqual([quarantined]);
    expect(await takeProjection(postgres, 3)).toMatchObject({
      due: [],
      quarantined: new Map([[maker, { offset: 10n, reason: 'a reason', clock }]]),
      owed: [order(1), order(2)],
    });
    expect(await takeProjection(postgres, 4)).toMatchObject({ due: [], quarantined: new Map(), owed: [] });
    const { version } = await readProjection(postgres, 3);
    await saveProjection(postgres, { ...commit(0, 11n, 12n, { makers: [makerRow] }), version });
    expect(await takeProjection(postgres, 3)).toMatchObject({ quarantined: new Map(), owed: [] });
  });

  test('that is only tried throws what a commit would, and writes nothing', async () => {
    const before = await hashReadModel(postgres);
    await tryProjection(postgres, opening);
    const refused = { ...opening, funding: [{ ...fundingRow, openOrders: 0 }] };
    await expect(tryProjection(postgres, refused)).rejects.toThrow(InvariantBroken);
    await expect(tryProjection(postgres, { ...opening, version: 7n })).rejects.toThrow(PositionTaken);
    expect(await hashReadModel(postgres)).toEqual(before);
    expect(await positionOf(3)).toBe(0n);
  });

  test.each<[string, Partial<ProjectionCommit>]>([
    ['nothing left to fill', { opened: [order(1, { remaining: '0' })] }],
    ['more left than was offered', { opened: [order(1, { makingAmount: '5', remaining: '6' })] }],
    ['INACTIVE without a reason', { opened: [order(1, { status: 'INACTIVE' })] }],
    ['a reason without INACTIVE', { opened: [order(1, { reason: 'INSUFFICIENT_BALANCE' })] }],
    ['ACTIVE and never read on the chain', { opened: [order(1, { status: 'ACTIVE' })] }],
    ['an unknown status', { opened: [order(1, { status: 'INVALID' })] }],
    ['the same order twice', { opened: [order(1), order(1)] }],
    ['funds of no order', { funding: [{ ...fundingRow, openOrders: 0 }] }],
    ['a value without its block', { funding: [{ ...fundingRow, block: null }] }],
    ['a balance without an allowance', { funding: [{ ...fundingRow, allowance: null }] }],
    [
      'a quarantined maker that is due',
      { makers: [{ ...makerRow, quarantinedOffset: 1n, quarantineReason: 'a reason', quarantineClock: clock }] },
    ],
    ['a removal without a reason', { history: [history(order(1), 'REMOVED', 1n, null)] }],
    ['one order accepted twice', { history: [1n, 2n].map((offset) => history(order(1), 'OPENED', offset, null)) }],
  ])('with %s is refused as a broken invariant, in whole', async (_what, changed) => {
    await expect(saveProjection(postgres, commit(0, 0n, 5n, changed))).rejects.toThrow(InvariantBroken);
    expect(await positionOf(3)).toBe(0n);
  });
});

describe('reading', () => {
  beforeEach(() => saveProjection(postgres, opening));

  test('an open order is found by its hash with maker and salt; a removed or unknown one is not', async () => {
    await saveProjection(postgres, commit(1, 10n, 11n, { removed: [hashOf(2)] }));
    const { orders, positions } = await findOrders(postgres, [hashOf(1), hashOf(2), hashOf(3)]);
    expect(orders).toEqual(new Map([[hashOf(1), { maker, salt: '0x1', expiresAtSeconds: 1_700_000_100 }]]));
    expect(positions.get(3)).toBe(11n);
  });

  test('a hash that was cancelled before it was accepted is known as such until its expiry', async () => {
    const cancelledHashes = [{ maker, orderHash: hashOf(9), expiresAtSeconds: 1_700_000_100, logOffset: 10n }];
    await saveProjection(postgres, commit(1, 10n, 11n, { cancelledHashes }));
    expect(await findKnownHashes(postgres, 3, [order(9), order(8)])).toEqual({
      accepted: new Set(),
      cancelled: new Set([hashOf(9)]),
      versions: [2n],
    });
    expect(await findEnded(postgres, [order(9), order(8), order(1)])).toEqual(new Set([hashOf(9)]));
    const { accepted } = await loadReservations(postgres, maker, 3, 1_700_000_099);
    expect(accepted).toContainEqual({ orderHash: hashOf(9), expiresAtSeconds: 1_700_000_100, isOpen: false });
    expect((await loadReservations(postgres, maker, 3, 1_700_000_100)).accepted).toEqual([]);
  });

  test('a removed order stays known as accepted until it has expired, and does not count as open', async () => {
    await saveProjection(postgres, commit(1, 10n, 11n, { removed: [hashOf(2)] }));
    const { nextOffset, accepted } = await loadReservations(postgres, maker, 3, 1_700_000_099);
    expect(nextOffset).toBe(11n);
    const expiresAtSeconds = 1_700_000_100;
    expect([...accepted].sort((a, b) => (a.orderHash < b.orderHash ? -1 : 1))).toEqual([
      { orderHash: hashOf(1), expiresAtSeconds, isOpen: true },
      { orderHash: hashOf(2), expiresAtSeconds, isOpen: false },
    ]);
    expect((await loadReservations(postgres, maker, 3, 1_700_000_100)).accepted).toEqual([]);
    expect(await findKnownHashes(postgres, 3, [order(1), order(2), order(3)])).toEqual({
      accepted: new Set([hashOf(1), hashOf(2)]),
      cancelled: new Set(),
      versions: [2n],
    });
    expect(await findEnded(postgres, [order(1), order(2), order(3)])).toEqual(new Set([hashOf(2)]));
  });
});
