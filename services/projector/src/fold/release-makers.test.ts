import { describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { FatalError } from '@makerbook/kafka';
import type { FundingRow, OrderRow } from '@makerbook/postgres';
import { testPartition, testPartitions } from '../testing/create-test-projector.js';
import { blockAt, makersOf, orderOf, unfoldable } from '../testing/generate-facts.js';
import { decided, expiresAt, GivenPartition, maker, observed, other, submitted } from '../testing/given-partition.js';
import type { Tables } from '../testing/hold-rows.js';

test('too many makers that cannot be folded stop the process before any is quarantined', async () => {
  const given = new GivenPartition({ quarantinedMakersMax: 1 });
  await given.when(submitted(maker, 0), observed(maker, [0]), submitted(other, 1), observed(other, [1]));
  const { published, tables } = given;
  const broken = given.when(unfoldable(maker), unfoldable(other));
  await expect(broken).rejects.toThrow(FatalError);
  await expect(broken).rejects.toThrow(/^2 makers cannot be folded, more than QUARANTINED_MAKERS_MAX/);
  expect(given.parked).toEqual([]);
  expect(given).toMatchObject({ published, tables });
});

test('makers already in quarantine count towards the limit, but do not stop a start', async () => {
  const cut = { quarantinedMakersMax: 2 };
  const given = new GivenPartition(cut);
  await given.when(unfoldable(maker), unfoldable(other));
  cut.quarantinedMakersMax = 1;
  await given.taken();
  const { published } = given;
  const [, , third] = makersOf(testPartition, testPartitions, 3) as [Hex, Hex, Hex];
  await expect(given.when(unfoldable(third))).rejects.toThrow(/^3 makers cannot be folded/);
  expect(given).toMatchObject({ published });
});

describe('broken rows', () => {
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
  ])('that %s stop the partition, with a remedy; nothing is published or parked', async (_what, tamper, reason) => {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0), submitted(maker, 2));
    given.rows.tables = { ...given.tables, ...tamper(given.tables) };
    await given.taken();
    const { published } = given;
    await expect(given.when(blockAt(6, expiresAt))).rejects.toThrow(FatalError);
    await expect(given.taken()).rejects.toThrow(stopped(reason));
    expect(given).toMatchObject({ published, parked: [] });
  });

  test('that the read model refuses stop the partition, and none of them is written', async () => {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0));
    const { tables } = given;
    const [row] = tables.orders.values();
    const orders = new Map(tables.orders).set(orderOf(maker, 1).orderHash, row as OrderRow);
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
  test('in vain leaves the maker as it was, and the command is parked', async () => {
    const given = new GivenPartition();
    await given.when(submitted(maker, 0), unfoldable(maker), submitted(maker, 2));
    const { makers, orders } = given.tables;
    expect(await given.when(decided(maker, 'QuarantineLifted'), decided(maker, 'QuarantineLifted'))).toEqual([]);
    expect(given.parked.slice(1)).toEqual(
      [3, 4].map((at) => expect.stringMatching(`^${at} .* stays quarantined: the fact at 1: .*an amount of zero`)),
    );
    expect(given.tables).toMatchObject({ makers, orders });
  });

  test('decodes the maker’s facts and the blocks since then, and nothing of other makers', async () => {
    const given = new GivenPartition();
    await given.when(unfoldable(maker));
    await given.when(submitted(other, 0), observed(other, [0]), blockAt(6, expiresAt - 100), submitted(maker, 2));
    await given.when(decided(maker, 'QuarantineLifted'));
    expect(new Set(given.decodedAgain)).toEqual(new Set([maker, '']));
  });
});
