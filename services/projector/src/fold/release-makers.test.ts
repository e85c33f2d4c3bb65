import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { MakerDraft } from '@makerbook/domain';
import { FatalError } from '@makerbook/kafka';
import { replaceMethod } from '@makerbook/parts';
import type { FundingRow, OrderRow } from '@makerbook/postgres';
import { blockAt, orderOf, unfoldable } from '../testing/generate-facts.js';
import {
  cancelled,
  decided,
  expiresAt,
  GivenPartition,
  maker,
  observed,
  other,
  submitted,
} from '../testing/given-partition.js';
import type { Tables } from '../testing/hold-rows.js';

/** While it has its mistake, this build folds no fact about the maker. */
const build = { hasMistake: false };
let mend: () => void;
beforeAll(() => {
  mend = replaceMethod(
    MakerDraft.prototype,
    'apply',
    (apply) =>
      function (this: MakerDraft, fact, ...rest) {
        if (build.hasMistake && fact.maker === maker) throw new Error('a build with a mistake');
        return apply.call(this, fact, ...rest);
      },
  );
});
beforeEach(() => {
  build.hasMistake = false;
});
afterAll(() => mend());

const keyOf = (of: Hex, number: number) => ({ orderHash: orderOf(of, number).orderHash, maker: of });
const quarantinedAt = ({ tables }: GivenPartition, of: Hex) => tables.makers.get(of)?.quarantinedOffset;

describe('a fact that cannot be folded', () => {
  test('takes the orders of its maker out of the book, and leaves them open', async () => {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0), submitted(other, 1), submitted(maker, 2));
    expect(await given.when(unfoldable(maker))).toEqual(['3:0 QUARANTINED of 0', '3:1 QUARANTINED of 2']);
    expect(quarantinedAt(given, maker)).toBe(3n);
    expect(quarantinedAt(given, other)).toBeNull();
    expect(given.tables.orders.size).toBe(3);
    expect(given.parked).toEqual([expect.stringMatching(`^3 ${maker} for .* alone, .*an amount of zero`)]);
  });

  test('is not parked again where the feeds have seen what it led to', async () => {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0));
    const backup = given.tables;
    await given.when(unfoldable(maker));
    given.rows.tables = backup;
    expect(await given.taken()).toEqual([]);
    expect(quarantinedAt(given, maker)).toBe(1n);
    expect(given.parked).toHaveLength(1);
  });
});

test('too many makers that cannot be folded stop the process, before it harms them all', async () => {
  const given = new GivenPartition({ quarantinedMakersMax: 1 });
  await given.when(submitted(maker, 0), submitted(other, 1));
  const { published, tables } = given;
  const broken = given.when(unfoldable(maker), unfoldable(other));
  await expect(broken).rejects.toThrow(FatalError);
  await expect(broken).rejects.toThrow(/^2 makers cannot be folded, more than QUARANTINED_MAKERS_MAX/);
  expect(given.parked).toEqual([]);
  expect(given).toMatchObject({ published, tables });
});

describe('rows that no fold writes', () => {
  const stopped = (reason: RegExp) =>
    new RegExp(`^partition 0: .*${reason.source}.*Stop the services, restore the database or run rebuild`);
  const changed = <K, V>(rows: ReadonlyMap<K, V>, change: (row: V) => V) =>
    new Map([...rows].map(([key, row]) => [key, change(row)]));

  test.each<[string, (tables: Tables) => Partial<Tables>, RegExp]>([
    ['lack a funding entry', () => ({ funding: new Map() }), /its funding counts 0/],
    [
      'count too few orders',
      ({ funding }) => ({ funding: changed(funding, (row) => ({ ...row, openOrders: 1 })) }),
      /its funding counts 1/,
    ],
    [
      'have funds of no order',
      ({ funding }) => {
        const [row] = funding.values();
        return { funding: new Map(funding).set('broken', { ...(row as FundingRow), token: other }) };
      },
      /cannot be read/,
    ],
    [
      'have a record that is no JSON',
      ({ orders }) => ({ orders: changed(orders, (row) => ({ ...row, recordStart: '{"order' })) }),
      /cannot be read.*JSON/,
    ],
    [
      'have a record without an order',
      ({ orders }) => ({ orders: changed(orders, (row) => ({ ...row, recordStart: '{"a":1' })) }),
      /cannot be read/,
    ],
    [
      'have a nonce that is no number',
      ({ makers }) => ({ makers: changed(makers, (row) => ({ ...row, nonce: 'NaN', nonceBlock: 1 })) }),
      /cannot be read/,
    ],
  ])('and %s stop the partition with the remedy, and nothing is published or parked', async (_what, tamper, reason) => {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0), submitted(maker, 2));
    given.rows.tables = { ...given.tables, ...tamper(given.tables) };
    await given.taken();
    const { published } = given;
    await expect(given.when(blockAt(6, expiresAt))).rejects.toThrow(FatalError);
    await expect(given.taken()).rejects.toThrow(stopped(reason));
    expect(given).toMatchObject({ published, parked: [] });
  });

  test('and that the read model refuses stop the partition, and none of them is written', async () => {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0));
    const { tables } = given;
    const [row] = tables.orders.values();
    const orders = new Map(tables.orders).set(keyOf(maker, 1).orderHash, row as OrderRow);
    given.rows.tables = { ...tables, orders };
    await expect(given.when(submitted(maker, 1))).rejects.toThrow(/refused a row/);
    // A commit that has failed is noticed with the next fact.
    await expect(given.when(blockAt(6, expiresAt - 100))).rejects.toThrow(stopped(/refused a row/));
    expect(given.tables).toMatchObject({ orders, projection: tables.projection });
    given.rows.tables = tables;
    await given.taken();
    expect(given.tables.projection.nextOffset).toBe(3n);
  });
});

describe('a quarantine that is lifted', () => {
  /** Folds with a mistake from offset 2 on, and then without it. */
  async function mended(): Promise<GivenPartition> {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0), observed(maker, [0]));
    build.hasMistake = true;
    await given.when(submitted(maker, 2), decided(maker, 'MakerAdmitted'), cancelled(maker, 0));
    expect(quarantinedAt(given, maker)).toBe(2n);
    build.hasMistake = false;
    return given;
  }

  test('folds what was left out, and brings the open orders back to be read anew', async () => {
    const given = await mended();
    expect(await given.when(decided(maker, 'QuarantineLifted'))).toEqual([
      '5:0 ADMITTED',
      '5:1 VALIDATING RELEASED of 2',
    ]);
    expect(quarantinedAt(given, maker)).toBeNull();
    expect([...given.tables.orders.values()]).toMatchObject([{ isObserved: false, inBook: true }]);
    expect(given.tables.history.at(-2)).toMatchObject({ logOffset: 4n, happened: 'REMOVED', reason: 'CANCELLED' });
    expect(await given.when(observed(maker, [2]))).toEqual([expect.stringMatching(/^6:0 ACTIVE OBSERVED/)]);
  });

  test('leaves the orders of a suspended maker out of the book, and they are read anew before they are ACTIVE in it', async () => {
    const given = await mended();
    await given.when(decided(maker, 'MakerSuspended'));
    expect(await given.when(decided(maker, 'QuarantineLifted'))).toEqual(['6:0 SUSPENDED']);
    expect([...given.tables.orders.values()]).toMatchObject([{ isObserved: false, inBook: false }]);
    expect(await given.when(decided(maker, 'MakerAdmitted'))).toEqual(['7:0 ADMITTED', '7:1 VALIDATING ADMITTED of 2']);
    expect(await given.when(observed(maker, [2]))).toEqual([expect.stringMatching(/^8:0 ACTIVE OBSERVED/)]);
  });

  test('in vain keeps the maker as it is, and the command is parked', async () => {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0), unfoldable(maker), submitted(maker, 2));
    const { makers, orders } = given.tables;
    expect(await given.when(decided(maker, 'QuarantineLifted'), decided(maker, 'QuarantineLifted'))).toEqual([]);
    expect(given.parked.slice(1)).toEqual(
      [3, 4].map((at) => expect.stringMatching(`^${at} .* stays quarantined: the fact at 1: .*an amount of zero`)),
    );
    expect(given.tables).toMatchObject({ makers, orders });
  });
});
