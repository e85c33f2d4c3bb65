import { describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { blockAt, startSeconds, unfoldable } from '../testing/generate-facts.js';
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

describe('a maker whose rows contradict each other', () => {
  test('is quarantined by its next fact, behind the messages of others', async () => {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0), submitted(other, 1));
    given.rows.broken.add(maker);
    await given.taken();
    expect(await given.when(blockAt(6, expiresAt))).toEqual([
      '2:0 EXPIRED of 1',
      '2:1 QUARANTINED of 0',
      '2:2 block 6',
    ]);
    expect(given.parked).toEqual([expect.stringMatching(/its funding counts 2/)]);
    expect([...given.tables.orders.values()]).toMatchObject([{ maker, inBook: false }]);
  });

  test('keeps its orders in the book until a fact comes that the feeds have not seen', async () => {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0));
    const backup = given.tables;
    await given.when(observed(maker, [0]), submitted(maker, 2));
    given.rows.tables = backup;
    given.rows.broken.add(maker);
    expect(await given.taken()).toEqual([]);
    // One order has no row: that it is to leave the book would be forgotten with a commit.
    expect(given.tables).toMatchObject({ projection: { nextOffset: 1n } });
    expect(await given.when(blockAt(6, startSeconds))).toEqual([
      '3:0 QUARANTINED of 0',
      '3:1 QUARANTINED of 2',
      '3:2 block 6',
    ]);
    expect(given.tables.projection.nextOffset).toBe(4n);
  });
});

describe('a quarantine that is lifted', () => {
  /** Rows that were bad from offset 2 on, and are right again. */
  async function mended(): Promise<GivenPartition> {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0), observed(maker, [0]));
    given.rows.broken.add(maker);
    await given.taken();
    await given.when(submitted(maker, 2), decided(maker, 'MakerAdmitted'), cancelled(maker, 0));
    expect(quarantinedAt(given, maker)).toBe(2n);
    given.rows.broken.clear();
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

  test('by a command that the feeds have seen before the rows were bad stays', async () => {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0));
    const backup = given.tables;
    await given.when(submitted(maker, 2), decided(maker, 'QuarantineLifted'), submitted(other, 1));
    given.rows.tables = backup;
    given.rows.broken.add(maker);
    expect(await given.taken()).toEqual([]);
    expect(given.parked.at(-1)).toMatch(/^2 .*the command is older than the quarantine/);
    expect(await given.when(blockAt(6, startSeconds))).toEqual([
      '4:0 QUARANTINED of 0',
      '4:1 QUARANTINED of 2',
      '4:2 block 6',
    ]);
  });

  test('takes out of the book what is to leave it before anything comes back', async () => {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0));
    const backup = given.tables;
    await given.when(cancelled(other, 9), submitted(maker, 2));
    given.rows.tables = backup;
    given.rows.broken.add(maker);
    await given.taken();
    given.rows.broken.clear();
    expect(await given.when(decided(maker, 'QuarantineLifted'))).toEqual([
      '3:0 QUARANTINED of 0',
      '3:1 QUARANTINED of 2',
      '3:2 VALIDATING RELEASED of 0',
      '3:3 VALIDATING RELEASED of 2',
    ]);
    expect([...given.tables.orders.values()].map(({ inBook }) => inBook)).toEqual([true, true]);
  });
});
