import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-events';
import { testParts } from '@makerbook/local-stack';
import {
  connectPostgres,
  findDueMakers,
  findKnownHashes,
  findMissedMakers,
  findOrders,
  type HistoryRow,
  hashReadModel,
  InvariantBroken,
  loadReservations,
  migrate,
  type OrderRow,
  PositionTaken,
  type Postgres,
  type ProjectionCommit,
  projectedPosition,
  readHaltedMakers,
  readMakerList,
  readMakers,
  readNextDue,
  readProjection,
  saveProjection,
} from './index.js';

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
    observedBlock: null,
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
  return { offset, orderHash, maker, happened, status, reason, remaining, expiresAtSeconds: expiry };
}

function commit(fromOffset: bigint, nextOffset: bigint, changed: Partial<ProjectionCommit> = {}): ProjectionCommit {
  return {
    partition: 3,
    fromOffset,
    nextOffset,
    blockNumber: undefined,
    clockSeconds: 0,
    pending: undefined,
    makers: [],
    funding: [],
    fundingDropped: [],
    opened: [],
    changed: [],
    removed: [],
    history: [],
    ...changed,
  };
}

const makerRow = {
  maker,
  admission: 'ADMITTED',
  nonce: '7',
  nonceBlock: 5,
  nonceIsWatched: true,
  dueAtSeconds: 1_000,
  haltedOffset: null,
};
const fundingRow = {
  maker,
  token,
  balance: uint256Max,
  balanceBlock: 5,
  allowance: null,
  allowanceBlock: null,
  openOrders: 2,
};
const opening = commit(0n, 10n, {
  makers: [makerRow],
  funding: [fundingRow],
  opened: [order(2), order(1)],
  history: [history(order(1), 'OPENED', 1n, null), history(order(2), 'OPENED', 2n, null)],
  pending: Buffer.from('feeds'),
  blockNumber: 9,
  clockSeconds: 99,
});

let postgres: Postgres;
beforeEach(async () => {
  const url = await testParts().databaseUrl();
  await migrate({ url });
  postgres = connectPostgres({ url, connectTimeoutMs: 60_000, statementTimeoutMs: 60_000 });
  await readProjection(postgres, 3);
});
afterEach(() => postgres.close());

describe('a commit', () => {
  test('stores rows and position together, and all of it reads back without loss', async () => {
    await saveProjection(postgres, opening);
    expect(await readMakers(postgres, [maker])).toEqual({
      makers: [makerRow],
      funding: [fundingRow],
      orders: [order(1), order(2)],
    });
    expect(await readProjection(postgres, 3)).toEqual({
      nextOffset: 10n,
      slices: 0,
      blockNumber: 9,
      clockSeconds: 99,
      pending: Buffer.from('feeds'),
    });
    expect(await readNextDue(postgres, 3)).toBe(1_000);
    expect(await findDueMakers(postgres, 3, 999, 10)).toEqual([]);
    expect(await findDueMakers(postgres, 3, 1_000, 10)).toEqual([{ maker, openOrders: 2 }]);
  });

  test('changes, removes and drops rows', async () => {
    await saveProjection(postgres, opening);
    const state = {
      remaining: '1',
      observedBlock: 9,
      status: 'INACTIVE',
      reason: 'INSUFFICIENT_BALANCE',
      inBook: false,
    };
    await saveProjection(
      postgres,
      commit(10n, 11n, {
        makers: [{ ...makerRow, dueAtSeconds: null }],
        fundingDropped: [{ maker, token }],
        changed: [{ orderHash: hashOf(1), ...state }],
        removed: [hashOf(2)],
        history: [history(order(2), 'REMOVED', 10n, 'FILLED')],
      }),
    );
    expect(await readMakers(postgres, [maker])).toEqual({
      makers: [{ ...makerRow, dueAtSeconds: null }],
      funding: [],
      orders: [order(1, state)],
    });
    expect(await readNextDue(postgres, 3)).toBeUndefined();
    expect((await readProjection(postgres, 3)).pending).toBeUndefined();
  });

  test('from a position that is not the stored one writes nothing', async () => {
    const before = await hashReadModel(postgres);
    await expect(saveProjection(postgres, { ...opening, fromOffset: 1n })).rejects.toThrow(PositionTaken);
    await expect(saveProjection(postgres, { ...opening, partition: 4 })).rejects.toThrow(PositionTaken);
    expect(await hashReadModel(postgres)).toEqual(before);
    expect(await projectedPosition(postgres, 3)).toBe(0n);
  });

  test('that several make at once is made by one of them', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 6 }, () => saveProjection(postgres, opening)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(PositionTaken);
    }
  });

  test('of a slice leaves the position where it is, and of those that make the same slice one does', async () => {
    await saveProjection(postgres, opening);
    const slice = (number: number) =>
      commit(10n, 10n, {
        fromSlices: number - 1,
        slices: number,
        removed: [hashOf(number)],
        history: [history(order(number), 'REMOVED', 10n, 'EXPIRED')],
      });
    for (const number of [1, 2]) {
      const owners = await Promise.allSettled(Array.from({ length: 4 }, () => saveProjection(postgres, slice(number))));
      expect(owners.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const owner of owners) if (owner.status === 'rejected') expect(owner.reason).toBeInstanceOf(PositionTaken);
      expect(await readProjection(postgres, 3)).toMatchObject({ nextOffset: 10n, slices: number });
    }
    // Who has not seen the slices cannot commit the block as a whole either.
    const whole = { removed: [hashOf(1), hashOf(2)] };
    await expect(saveProjection(postgres, commit(10n, 11n, whole))).rejects.toThrow(PositionTaken);
    await saveProjection(postgres, commit(10n, 11n, { fromSlices: 2 }));
    expect(await readProjection(postgres, 3)).toMatchObject({ nextOffset: 11n, slices: 0 });
  });

  test('halts a maker: nothing of it is due, its orders leave the book, and all else of it is left as it is', async () => {
    await saveProjection(postgres, opening);
    const halting = { halted: [{ maker, offset: 10n }], withheld: [hashOf(1)] };
    await saveProjection(postgres, commit(10n, 11n, halting));
    const halted = { ...makerRow, dueAtSeconds: null, haltedOffset: 10n };
    expect(await readMakers(postgres, [maker])).toEqual({
      makers: [halted],
      funding: [fundingRow],
      orders: [order(1, { inBook: false }), order(2)],
    });
    expect(await readHaltedMakers(postgres, 3)).toEqual(new Map([[maker, 10n]]));
    expect(await readHaltedMakers(postgres, 4)).toEqual(new Map());
    expect(await readNextDue(postgres, 3)).toBeUndefined();
    // The block that it was halted at first stays; a maker who is well again says so with its row.
    await saveProjection(postgres, commit(11n, 12n, { halted: [{ maker, offset: 11n }] }));
    expect(await readHaltedMakers(postgres, 3)).toEqual(new Map([[maker, 10n]]));
    await saveProjection(postgres, commit(12n, 13n, { makers: [makerRow] }));
    expect(await readHaltedMakers(postgres, 3)).toEqual(new Map());
  });

  test('with rows that moves nothing is refused: it could be made twice', async () => {
    await expect(saveProjection(postgres, commit(0n, 0n, { opened: [order(1)] }))).rejects.toThrow(/twice/);
  });

  test('finds the first of the makers that are due, by address, with the orders that each has open', async () => {
    const makers = ['0c', '0a', '0b'].map((byte): Hex => `0x${byte.repeat(20)}`);
    const funding = makers.flatMap((of, index) =>
      [token, maker].map((sold) => ({ ...fundingRow, maker: of, token: sold, openOrders: index + 1 })),
    );
    await saveProjection(
      postgres,
      commit(0n, 1n, { makers: makers.map((of) => ({ ...makerRow, maker: of })), funding }),
    );
    expect(await findDueMakers(postgres, 3, 1_000, 2)).toEqual([
      { maker: makers[1], openOrders: 4 },
      { maker: makers[2], openOrders: 6 },
    ]);
  });

  test('finds the makers of orders that were accepted late and seen before a block', async () => {
    const makers = ['0c', '0a', '0b'].map((byte): Hex => `0x${byte.repeat(20)}`);
    const opened = makers.flatMap((of, index) => {
      const seen = { observedBlock: [8, 9, null][index] ?? null };
      return [order(2 * index, { maker: of, ...seen }), order(2 * index + 1, { maker: of, observedBlock: 8 })];
    });
    await saveProjection(
      postgres,
      commit(0n, 10n, {
        makers: makers.map((of) => ({ ...makerRow, maker: of })),
        funding: makers.map((of) => ({ ...fundingRow, maker: of })),
        opened,
        history: opened.map((row) => ({ ...history(row, 'OPENED', row.acceptedOffset, null), maker: row.maker })),
      }),
    );
    const find = async (knownOffset: bigint, blockNumber: number, makersMax = 10) =>
      (await findMissedMakers(postgres, 3, { knownOffset, blockNumber }, makersMax)).map((found) => found.maker);
    expect(await find(0n, 9)).toEqual([makers[1], makers[2], makers[0]]);
    expect(await find(0n, 9, 2)).toEqual([makers[1], makers[2]]);
    expect(await findMissedMakers(postgres, 3, { knownOffset: 5n, blockNumber: 9 }, 10)).toEqual([
      { maker: makers[2], openOrders: 2 },
    ]);
    expect(await find(6n, 9)).toEqual([]);
    expect(await find(0n, 8)).toEqual([]);
    expect(await findMissedMakers(postgres, 4, { knownOffset: 0n, blockNumber: 9 }, 10)).toEqual([]);
    // What blocks miss of a halted maker is no matter of theirs; what is to be looked at anyway is not missed.
    await saveProjection(postgres, commit(10n, 11n, { halted: [{ maker: makers[1] as Hex, offset: 10n }] }));
    expect(await find(0n, 9)).toEqual([makers[2], makers[0]]);
    const state = { remaining: '1', observedBlock: null, status: 'VALIDATING', reason: null, inBook: true };
    await saveProjection(postgres, commit(11n, 12n, { changed: [{ orderHash: hashOf(5), ...state }] }));
    expect(await find(4n, 9)).toEqual([]);
  });

  test.each<[string, Partial<ProjectionCommit>]>([
    ['nothing left to fill', { opened: [order(1, { remaining: '0' })] }],
    ['more left than was offered', { opened: [order(1, { makingAmount: '5', remaining: '6' })] }],
    ['INACTIVE without a reason', { opened: [order(1, { status: 'INACTIVE' })] }],
    ['a reason without INACTIVE', { opened: [order(1, { reason: 'INSUFFICIENT_BALANCE' })] }],
    ['an order seen before the first block', { opened: [order(1, { observedBlock: -1 })] }],
    ['an unknown status', { opened: [order(1, { status: 'INVALID' })] }],
    ['the same order twice', { opened: [order(1), order(1)] }],
    ['funds of no order', { funding: [{ ...fundingRow, openOrders: 0 }] }],
    ['a value without its block', { funding: [{ ...fundingRow, balanceBlock: null }] }],
    ['a watched nonce that is not known', { makers: [{ ...makerRow, nonce: null, nonceBlock: null }] }],
    ['a removal without a reason', { history: [history(order(1), 'REMOVED', 1n, null)] }],
    ['one order accepted twice', { history: [1n, 2n].map((offset) => history(order(1), 'OPENED', offset, null)) }],
  ])('with %s is refused as a broken invariant, in whole', async (_what, changed) => {
    await expect(saveProjection(postgres, commit(0n, 5n, changed))).rejects.toThrow(InvariantBroken);
    expect(await projectedPosition(postgres, 3)).toBe(0n);
  });
});

describe('reading', () => {
  beforeEach(() => saveProjection(postgres, opening));

  test('a maker’s list comes oldest first with the position that it reflects', async () => {
    const { nextOffset, records } = await readMakerList(postgres, maker, 3);
    expect(nextOffset).toBe(10n);
    expect(records.map(({ orderHash }) => orderHash)).toEqual([hashOf(1), hashOf(2)]);
    expect(records[0]).toMatchObject({ acceptedOffset: 1n, expiresAtSeconds: 1_700_000_100 });
    expect(JSON.parse(records[0]?.json ?? '')).toMatchObject({ orderHash: hashOf(1), status: 'VALIDATING' });
  });

  test('a maker without orders, and a partition that was never projected, have an empty list', async () => {
    expect(await readMakerList(postgres, hashOf(1), 3)).toEqual({ nextOffset: 10n, records: [] });
    expect(await readMakerList(postgres, maker, 5)).toEqual({ nextOffset: 0n, records: [] });
    expect(await projectedPosition(postgres, 5)).toBe(0n);
  });

  test('an open order is found by its hash with maker and salt; a removed or unknown one is not', async () => {
    await saveProjection(postgres, commit(10n, 11n, { removed: [hashOf(2)] }));
    expect(await findOrders(postgres, [hashOf(1), hashOf(2), hashOf(3)])).toEqual(
      new Map([[hashOf(1), { maker, salt: '0x1', expiresAtSeconds: 1_700_000_100 }]]),
    );
  });

  test('a hash that was cancelled before it was accepted is known as such until its expiry', async () => {
    const cancelledHashes = [{ maker, orderHash: hashOf(9), expiresAtSeconds: 1_700_000_100, offset: 10n }];
    await saveProjection(postgres, commit(10n, 11n, { cancelledHashes }));
    expect(await findKnownHashes(postgres, [order(9), order(8)])).toEqual({
      accepted: new Set(),
      cancelled: new Set([hashOf(9)]),
    });
    const { accepted } = await loadReservations(postgres, maker, 3, 1_700_000_099);
    expect(accepted).toContainEqual({ orderHash: hashOf(9), expiresAtSeconds: 1_700_000_100, isOpen: false });
    expect((await loadReservations(postgres, maker, 3, 1_700_000_100)).accepted).toEqual([]);
  });

  test('a removed order stays known as accepted until it has expired, and does not count as open', async () => {
    await saveProjection(postgres, commit(10n, 11n, { removed: [hashOf(2)] }));
    const { nextOffset, accepted } = await loadReservations(postgres, maker, 3, 1_700_000_099);
    expect(nextOffset).toBe(11n);
    const expiresAtSeconds = 1_700_000_100;
    expect([...accepted].sort((a, b) => (a.orderHash < b.orderHash ? -1 : 1))).toEqual([
      { orderHash: hashOf(1), expiresAtSeconds, isOpen: true },
      { orderHash: hashOf(2), expiresAtSeconds, isOpen: false },
    ]);
    expect((await loadReservations(postgres, maker, 3, 1_700_000_100)).accepted).toEqual([]);
    expect(await findKnownHashes(postgres, [order(1), order(2), order(3)])).toEqual({
      accepted: new Set([hashOf(1), hashOf(2)]),
      cancelled: new Set(),
    });
  });
});
