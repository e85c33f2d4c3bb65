import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { FatalError } from '@makerbook/kafka';
import type { FundingRow } from '@makerbook/postgres';
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
import { type MistakenBuild, plantMistake } from '../testing/plant-mistake.js';

let build: MistakenBuild;
beforeAll(() => {
  build = plantMistake(maker);
});
beforeEach(() => {
  build.hasMistake = false;
});
afterAll(() => build.mend());

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

  test('is the last one that counts for its maker: neither its facts nor blocks are folded for it', async () => {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0), submitted(other, 1), unfoldable(maker));
    expect(await given.when(cancelled(maker, 0), submitted(maker, 3), blockAt(6, expiresAt))).toEqual([
      '5:0 EXPIRED of 1',
      '5:1 block 6',
    ]);
    expect([...given.tables.orders.values()]).toMatchObject([{ maker, inBook: false }]);
    expect(await given.taken()).toEqual([]);
    expect(await given.when(submitted(maker, 4))).toEqual([]);
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

describe('rows that no fold writes', () => {
  test('stop the partition with the remedy, and nothing is published or parked', async () => {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0), submitted(other, 1));
    const [row] = given.tables.funding.values();
    const funding = new Map(given.tables.funding).set('broken', { ...(row as FundingRow), token: other });
    given.rows.tables = { ...given.tables, funding };
    await given.taken();
    const published = given.published;
    await expect(given.when(blockAt(6, expiresAt))).rejects.toThrow(FatalError);
    await expect(given.taken()).rejects.toThrow(
      new RegExp(
        `^partition 0: the rows of ${maker} cannot be read: .*Stop the services, restore the database or run rebuild`,
      ),
    );
    expect(given.published).toBe(published);
    expect(given.parked).toEqual([]);
  });
});

describe('what a maker in quarantine sends', () => {
  test('is remembered as unfolded, in place of what was in flight, and is folded when the maker is released', async () => {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0));
    build.hasMistake = true;
    await given.when(submitted(maker, 1));
    const inFlight = { salt: '0x1', expiresAtSeconds: 9_000_000_000, untilMs: 9_000_000_000_000 };
    for (const number of [2, 3]) given.rows.place({ ...keyOf(maker, number), ...inFlight });
    given.rows.cancel({ ...keyOf(maker, 0), ...inFlight });
    await given.when(submitted(maker, 0), submitted(maker, 2), cancelled(maker, 0));
    expect([...given.tables.inFlight.values()].map(({ orderHash }) => orderHash)).toEqual([keyOf(maker, 3).orderHash]);
    expect(given.tables.cancelling).toEqual([]);
    const states = () =>
      [...given.tables.hashes.values()].map(({ orderHash, state, salt }) => [
        Number(`0x${orderHash.slice(-24)}`),
        state,
        salt,
      ]);
    expect(states()).toEqual([
      [0, 'ACCEPTED', null],
      [1, 'UNFOLDED', '0x1'],
      [2, 'UNFOLDED', '0x2'],
    ]);
    expect(given.tables.makers.get(maker)).toMatchObject({ openOrders: 1, listVersion: 0n });
    build.hasMistake = false;
    await given.when(decided(maker, 'QuarantineLifted'));
    expect(states()).toEqual([
      [0, 'ACCEPTED', null],
      [1, 'ACCEPTED', null],
      [2, 'ACCEPTED', null],
    ]);
    expect(given.tables.makers.get(maker)).toMatchObject({ openOrders: 2, listVersion: 5n });
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

  test('goes to the same facts in another process', async () => {
    const given = await mended();
    await given.taken();
    expect(await given.when(decided(maker, 'QuarantineLifted'))).toEqual([
      '5:0 ADMITTED',
      '5:1 VALIDATING RELEASED of 2',
    ]);
  });

  test('leaves an order in its last seconds out of the book, and its blocks are not lost', async () => {
    const given = await mended();
    await given.when(blockAt(6, expiresAt - 60));
    expect(await given.when(decided(maker, 'QuarantineLifted'))).toEqual(['6:0 ADMITTED']);
    expect([...given.tables.orders.values()]).toMatchObject([{ inBook: false }]);
    expect(await given.when(blockAt(7, expiresAt))).toEqual(['7:0 block 7']);
    expect(given.tables.orders.size).toBe(0);
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
