import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import {
  byteaOf,
  type HashRow,
  type HistoryRow,
  InvariantBroken,
  type OrderRow,
  type Postgres,
} from '@makerbook/postgres';
import { hashOf, hashReadModel, insertRow, openTestDatabase } from '@makerbook/postgres/testing';
import {
  findKnownHashes,
  openProjectionStore,
  readMakers,
  readProjection,
  startOfRows,
  takeProjection,
} from './open-store.js';
import { PositionTaken, type ProjectionCommit, saveProjections } from './save-projection.js';

const maker: Hex = `0x${'a1'.repeat(20)}`;
const other: Hex = `0x${'c3'.repeat(20)}`;
const token: Hex = `0x${'b2'.repeat(20)}`;
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
    cappedUntil: 0,
    walletSignature: null,
    recordStart: `{"order":{"salt":"0x${number.toString(16)}"},"orderHash":"${orderHash}","signature":"0x"`,
    ...changed,
  };
}

function history(row: OrderRow, happened: HistoryRow['happened'], offset: bigint, reason: string | null): HistoryRow {
  const { orderHash, status, remaining, cappedUntil } = row;
  const salt = happened === 'OPENED' ? '0x7' : null;
  return { logOffset: offset, orderHash, maker, happened, status, reason, remaining, cappedUntil, salt };
}

function hashRow(number: number, changed: Partial<HashRow> = {}): HashRow {
  const known = { state: 'ACCEPTED', salt: null, nonce: '7' } as const;
  const times = { expiresAtSeconds: 1_700_000_100, keptUntilSeconds: 1_700_000_020 };
  return { orderHash: hashOf(number), maker, ...known, ...times, ...changed };
}

const at = (nextOffset: bigint, blockParts = 0) => ({ nextOffset, blockParts });
const book = { entries: 2, hash: `0x${'ab'.repeat(32)}` as const };
const atStart = { clock: startOfRows.clock, clockMs: 0, book: startOfRows.book };

/** Makes a commit from one offset to another. */
function commit(from: bigint, to: bigint, changed: Partial<ProjectionCommit> = {}): ProjectionCommit {
  return {
    partition: 3,
    from: at(from),
    to: { ...atStart, ...at(to) },
    forgetsEnded: false,
    makers: [],
    funding: [],
    fundingDropped: [],
    opened: [],
    changed: [],
    removed: [],
    history: [],
    fills: [],
    hashes: [],
    submitted: [],
    settled: [],
    ...changed,
  };
}

const makerRow = {
  maker,
  admission: 'ADMITTED',
  limits: { openOrdersMax: 5, ordersBurst: 7 },
  exits: { cancelAt: 9, cutoffs: [{ untilMs: 7 }] },
  nonce: '7',
  nonceBlock: 5,
  dueAtSeconds: 1_000,
  listVersion: 2n,
  openOrders: 2,
  quarantinedOffset: null,
  quarantineReason: null,
  quarantineClock: null,
};
const fundingRow = { maker, token, balance: uint256Max, allowance: '0', block: 5, openOrders: 2, teller: null };
const clock = { block: 9, seconds: 99 };
const opening = commit(0n, 10n, {
  makers: [makerRow],
  funding: [fundingRow],
  opened: [order(2), order(1)],
  history: [history(order(1), 'OPENED', 1n, null), history(order(2), 'OPENED', 2n, null)],
  hashes: [hashRow(1), hashRow(2)],
  to: { ...at(10n), clock, clockMs: 1_700_000_000_500, book },
});

const { owner, postgres, close } = await openTestDatabase('projector');
beforeEach(async () => {
  const tables = 'projections, makers, funding, orders, order_history, fills, hashes, in_flight, cancelling';
  await owner.query(`truncate ${tables}`);
  await owner.query('insert into projections (partition) values (3)');
});
afterAll(close);

const saveProjection = openProjectionStore(postgres, 1).saveProjection;
const positionOf = async (partition: number) => (await readProjection(postgres, partition)).nextOffset;
const dueIn = async (partition: number) => (await takeProjection(postgres, partition)).due;

describe('a commit', () => {
  test('stores rows and position together, and all of it reads back without loss', async () => {
    await saveProjection(opening);
    expect(await readMakers(postgres, 3, [maker])).toEqual({
      makers: [makerRow],
      funding: [fundingRow],
      orders: [order(1), order(2)],
      positions: [at(10n), at(10n), at(10n)],
    });
    const projection = { ...at(10n), clock, clockMs: 1_700_000_000_500, book };
    expect(await readProjection(postgres, 3)).toEqual(projection);
    expect(await takeProjection(postgres, 3)).toMatchObject({ projection, serverStartedAt: expect.any(BigInt) });
    expect(await dueIn(3)).toEqual([{ maker, dueAtSeconds: 1_000, openOrders: 2 }]);
    expect(await dueIn(4)).toEqual([]);
  });

  test('shows in the position that each read returns, even if nothing is found', async () => {
    const nobody = `0x${'9'.repeat(40)}` as const;
    const read = async (partition = 3) => {
      const { positions, ...rows } = await readMakers(postgres, partition, [nobody]);
      expect(rows).toEqual({ makers: [], funding: [], orders: [] });
      return [...positions, ...(await findKnownHashes(postgres, partition, [order(8)])).positions];
    };
    expect(await read()).toEqual([at(0n), at(0n), at(0n), at(0n)]);
    await saveProjection(opening);
    expect(await read()).toEqual([at(10n), at(10n), at(10n), at(10n)]);
    await saveProjection({ ...commit(10n, 10n), to: { ...atStart, ...at(10n, 1) } });
    expect(await read()).toEqual([at(10n, 1), at(10n, 1), at(10n, 1), at(10n, 1)]);
    expect(await read(4)).toEqual([at(0n), at(0n), at(0n), at(0n)]);
  });

  test('stores a fill once, with the first fact that reports it', async () => {
    const fill = (logOffset: bigint, logIndex = 4) => {
      return { orderHash: hashOf(1), blockNumber: 7, logIndex, maker, logOffset };
    };
    await saveProjection(commit(0n, 10n, { fills: [fill(5n), fill(6n)] }));
    await saveProjection(commit(10n, 20n, { fills: [fill(12n), fill(12n, 5)] }));
    const rows = await owner.query('select log_index, log_offset from fills order by log_index');
    expect(rows).toEqual([
      { log_index: 4, log_offset: 5n },
      { log_index: 5, log_offset: 12n },
    ]);
  });

  test('from a position that is not the stored one writes nothing', async () => {
    const before = await hashReadModel(owner);
    for (const other of [{ from: at(1n) }, { partition: 4 }, { from: at(0n, 1) }]) {
      await expect(saveProjection({ ...opening, ...other })).rejects.toThrow(PositionTaken);
    }
    expect(await hashReadModel(owner)).toEqual(before);
    expect(await positionOf(3)).toBe(0n);
  });

  test('of a part of a block succeeds for only one of several owners, even if it led to no message', async () => {
    await saveProjection(opening);
    const part = (number: number): ProjectionCommit => ({
      ...commit(10n, 10n),
      from: at(10n, number - 1),
      to: { ...atStart, ...at(10n, number) },
      removed: [hashOf(number)],
      history: [history(order(number), 'REMOVED', 10n, 'EXPIRED')],
    });
    for (const number of [1, 2]) {
      const owners = await Promise.allSettled(Array.from({ length: 4 }, () => saveProjection(part(number))));
      expect(owners.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const owner of owners) if (owner.status === 'rejected') expect(owner.reason).toBeInstanceOf(PositionTaken);
      expect(await readProjection(postgres, 3)).toMatchObject(at(10n, number));
    }
    await saveProjection({ ...commit(10n, 11n), from: at(10n, 2) });
    expect(await readProjection(postgres, 3)).toMatchObject(at(11n));
  });

  test('quarantines a maker: nothing of it is due, and its row says since which offset and why', async () => {
    await saveProjection(opening);
    const quarantined = {
      ...makerRow,
      dueAtSeconds: null,
      quarantinedOffset: 10n,
      quarantineReason: 'a reason',
      quarantineClock: clock,
    };
    await saveProjection(commit(10n, 11n, { makers: [quarantined] }));
    expect((await readMakers(postgres, 3, [maker])).makers).toEqual([quarantined]);
    expect(await takeProjection(postgres, 3)).toMatchObject({
      due: [],
      quarantined: new Map([[maker, { offset: 10n, reason: 'a reason', clock }]]),
    });
    expect(await takeProjection(postgres, 4)).toMatchObject({ due: [], quarantined: new Map() });
    await saveProjection(commit(11n, 12n, { makers: [makerRow] }));
    expect(await takeProjection(postgres, 3)).toMatchObject({ quarantined: new Map() });
  });

  test.each<[string, Partial<ProjectionCommit>]>([
    ['in the book while a cap withholds it', { opened: [order(1, { cappedUntil: 5 })] }],
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
    ['what one fact did to an order twice', { history: [1n, 1n].map((at) => history(order(1), 'OPENED', at, null)) }],
    ['an accepted hash of an unknown nonce', { hashes: [hashRow(1, { nonce: null })] }],
    ['a salt of a hash whose order is folded', { hashes: [hashRow(1, { salt: '0x1' })] }],
  ])('with %s is refused as a whole, as a broken invariant', async (_what, changed) => {
    await expect(saveProjection(commit(0n, 5n, changed))).rejects.toThrow(InvariantBroken);
    expect(await positionOf(3)).toBe(0n);
  });
});

describe('hashes', () => {
  const readHashes = async () =>
    (
      await owner.query<{ line: string }>(
        `select concat_ws(' ', right(order_hash::text, 1), state, salt, nonce) as line from hashes order by order_hash, maker`,
      )
    ).map(({ line }) => line);
  /** The stored number, and the number of rows. */
  async function remembered(of: Hex) {
    const [row] = await owner.query<{ stored: bigint; counted: bigint }>(
      `select remembered as stored, (select count(*) from hashes where hashes.maker = makers.maker) as counted
       from makers where maker = $1`,
      [byteaOf(of)],
    );
    return [row?.stored, row?.counted];
  }
  const unfolded = (number: number, changed: Partial<HashRow> = {}) =>
    hashRow(number, { state: 'UNFOLDED', salt: '0x9', nonce: '3', ...changed });

  test('are counted for their maker, each once, whatever becomes of them', async () => {
    await saveProjection(opening);
    expect(await remembered(maker)).toEqual([2n, 2n]);
    const again = [hashRow(1), hashRow(4), hashRow(5, { state: 'CANCELLED', nonce: null })];
    await saveProjection(commit(10n, 11n, { makers: [makerRow], hashes: again }));
    expect(await remembered(maker)).toEqual([4n, 4n]);
    const accepted = [hashRow(5), hashRow(5, { maker: other, state: 'CANCELLED', nonce: null })];
    const makers = [makerRow, { ...makerRow, maker: other }];
    await saveProjection(commit(11n, 12n, { makers, hashes: accepted }));
    expect([await remembered(maker), await remembered(other)]).toEqual([
      [4n, 4n],
      [1n, 1n],
    ]);
    await expect(saveProjection(commit(11n, 12n, { makers, hashes: [hashRow(6)] }))).rejects.toThrow(PositionTaken);
    expect(await remembered(maker)).toEqual([4n, 4n]);
    await saveProjection(commit(12n, 13n, { makers }));
    expect(await remembered(maker)).toEqual([4n, 4n]);
  });

  test('that wait in the log are counted, overwrite nothing known, and stay unknown to the fold', async () => {
    await saveProjection(opening);
    const makers = [{ ...makerRow, maker: other }];
    const hashes = [unfolded(1), unfolded(7), unfolded(8), hashRow(9, { maker: other })];
    // The maker in quarantine has no row in the commit.
    await saveProjection(commit(10n, 11n, { makers, hashes }));
    await saveProjection(commit(11n, 12n, { hashes: [unfolded(7, { salt: '0x1' })] }));
    expect(await readHashes()).toEqual([
      '1 ACCEPTED 7',
      '2 ACCEPTED 7',
      '7 UNFOLDED 0x9 3',
      '8 UNFOLDED 0x9 3',
      '9 ACCEPTED 7',
    ]);
    expect([await remembered(maker), await remembered(other)]).toEqual([
      [4n, 4n],
      [1n, 1n],
    ]);
    expect((await findKnownHashes(postgres, 3, [hashRow(7), hashRow(8)])).hashes).toEqual([]);
    const released = [hashRow(7), hashRow(8, { state: 'CANCELLED', nonce: null })];
    await saveProjection(commit(12n, 13n, { makers: [makerRow], hashes: released }));
    expect((await readHashes()).slice(2, 4)).toEqual(['7 ACCEPTED 7', '8 CANCELLED']);
    expect(await remembered(maker)).toEqual([4n, 4n]);
  });
});

describe('commits of several partitions', () => {
  beforeEach(() => owner.query('insert into projections (partition) values (4), (5)'));
  const inFour = commit(0n, 7n, {
    partition: 4,
    makers: [{ ...makerRow, maker: other }],
    opened: [order(9, { maker: other })],
    hashes: [hashRow(9, { maker: other })],
  });

  test('share a statement, and one whose rows have moved writes nothing and harms no other', async () => {
    const taken = await saveProjections(postgres, [
      opening,
      inFour,
      commit(1n, 2n, { partition: 5, removed: [hashOf(1)] }),
    ]);
    expect(taken).toEqual([undefined, undefined, expect.any(PositionTaken)]);
    expect(await Promise.all([3, 4, 5].map(positionOf))).toEqual([10n, 7n, 0n]);
    const { orders, makers } = await readMakers(postgres, 4, [other]);
    expect([orders, makers.map((row) => row.maker)]).toEqual([[order(9, { maker: other })], [other]]);
    const partitions = await owner.query('select partition, order_hash from orders order by order_hash');
    expect(partitions.map((row) => Object.values(row))).toEqual([
      [3, hashOf(1)],
      [3, hashOf(2)],
      [4, hashOf(9)],
    ]);
    expect((await saveProjections(postgres, [opening, commit(7n, 8n, { partition: 4 })])).map(Boolean)).toEqual([
      true,
      false,
    ]);
  });

  test('that wait for a statement share the next, and one that breaks an invariant fails alone', async () => {
    const statements: number[] = [];
    const query: Postgres['query'] = (text, values, name) => {
      statements.push(encodedLength(values?.[0]));
      return postgres.query(text, values, name);
    };
    const store = openProjectionStore({ ...postgres, query }, 1);
    const broken = commit(0n, 1n, { partition: 5, opened: [order(5, { remaining: '0' })] });
    const commits = [commit(0n, 1n, { partition: 4 }), broken, opening].map((one) => store.saveProjection(one));
    const outcomes = await Promise.allSettled(commits);
    expect(outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason : undefined))).toEqual([
      undefined,
      expect.any(InvariantBroken),
      undefined,
    ]);
    expect(statements).toEqual([3, 1, 1, 1]);
    expect(await Promise.all([3, 4, 5].map(positionOf))).toEqual([10n, 1n, 0n]);
  });
});

/** How many elements a parameter has: an array in binary form. */
function encodedLength(parameter: unknown): number {
  return Buffer.isBuffer(parameter) ? parameter.readInt32BE(12) : 0;
}

describe('what ingress has written', () => {
  const note =
    (table: 'in_flight' | 'cancelling') =>
    (number: number, untilMs: number, partition = 3) =>
      insertRow(owner, table, { order_hash: hashOf(number), maker, until_ms: untilMs, partition });
  const [place, cancel] = [note('in_flight'), note('cancelling')];
  const noteUnknown = () =>
    owner.query('insert into in_flight (order_hash, until_ms) values ($1, 5)', [byteaOf(hashOf(4))]);
  const left = async (table: string) => {
    const rows = await owner.query<{ hash: Hex }>(`select order_hash as hash from ${table} order by order_hash`);
    return rows.map(({ hash }) => Number(hash));
  };
  const key = (number: number, of = maker) => ({ orderHash: hashOf(number), maker: of });

  test('is removed by the commit that handles that maker’s order, its cancellation or its end', async () => {
    for (const number of [1, 2, 3]) await place(number, 9_000);
    await noteUnknown();
    for (const number of [1, 1, 2]) await cancel(number, 9_000);
    await saveProjection(
      commit(0n, 2n, { submitted: [key(1), key(1), key(2, other), key(4)], settled: [key(1), key(2, other)] }),
    );
    expect(await left('in_flight')).toEqual([2, 3, 4]);
    expect(await left('cancelling')).toEqual([2]);
    await expect(saveProjection(commit(0n, 2n, { submitted: [key(2)] }))).rejects.toThrow(PositionTaken);
    expect(await left('in_flight')).toEqual([2, 3, 4]);
  });

  test('is removed once the log’s clock has passed the end of its append, and not before', async () => {
    await place(1, 5_000);
    await place(2, 5_001);
    await place(3, 1, 4);
    await noteUnknown();
    await cancel(1, 5_000);
    await cancel(2, 5_001);
    await cancel(3, 1, 4);
    await saveProjection(commit(0n, 1n, { to: { ...atStart, ...at(1n), clockMs: 5_001 } }));
    expect(await left('in_flight')).toEqual([1, 2, 3, 4]);
    await saveProjection(commit(1n, 2n, { to: { ...atStart, ...at(2n), clockMs: 5_001 }, forgetsEnded: true }));
    expect(await left('in_flight')).toEqual([2, 3, 4]);
    expect(await left('cancelling')).toEqual([2, 3]);
    await expect(
      saveProjection(commit(1n, 3n, { to: { ...atStart, ...at(3n), clockMs: 9_000 }, forgetsEnded: true })),
    ).rejects.toThrow(PositionTaken);
    expect(await left('in_flight')).toEqual([2, 3, 4]);
  });
});
