import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openTestDatabase } from '@makerbook/postgres/testing';
import { claimWork } from './claim-work.js';

const PARTITIONS = 6;
const { owner, postgres, close } = await openTestDatabase('projector');
beforeEach(() => owner.query('truncate claims, claimants'));
afterAll(close);

/** A process that works on what it owns, and ends at once what it has lost or must give back. */
function claimant(holder: string) {
  let owned: number[] = [];
  const lost: number[] = [];
  let isLeaving = false;
  async function look(): Promise<readonly number[]> {
    const request = { holder, partitions: PARTITIONS, busy: owned, isLeaving };
    const claims = await claimWork(postgres, request);
    lost.push(...owned.filter((partition) => !claims.owned.has(partition)));
    owned = [...claims.owned].filter((partition) => !claims.surplus.has(partition));
    return owned;
  }
  return {
    look,
    lost,
    owned: () => owned,
    leave: async () => {
      owned = [];
      isLeaving = true;
      await look();
    },
  };
}

type Claimant = ReturnType<typeof claimant>;

/** Has them look in turn. Returns how many partitions each owns. */
async function rounds(count: number, ...claimants: readonly Claimant[]): Promise<number[]> {
  for (let round = 0; round < count; round += 1) for (const one of claimants) await one.look();
  return claimants.map(({ owned }) => owned().length);
}

function assertShared(...claimants: readonly Claimant[]): void {
  const all = claimants.flatMap(({ owned }) => owned()).sort();
  expect(all).toEqual([...Array(PARTITIONS).keys()]);
}

/** Makes the processes look silent for longer than a claim lasts. */
const expire = async (...holders: readonly string[]) => {
  await owner.query("update claimants set seen_at = seen_at - interval '3 seconds' where holder = any($1)", [holders]);
};

describe('claiming partitions', () => {
  test('three processes that come one after the other have a third each, and each partition has one owner', async () => {
    const [first, second, third] = [claimant('1'), claimant('2'), claimant('3')];
    expect(await rounds(2, first)).toEqual([6]);
    expect(await rounds(3, first, second)).toEqual([3, 3]);
    expect(await rounds(3, first, second, third)).toEqual([2, 2, 2]);
    assertShared(first, second, third);
    expect([first, second, third].flatMap(({ lost }) => lost)).toEqual([]);
  });

  test('no partition is given back before the work on it has ended', async () => {
    const first = claimant('1');
    await rounds(2, first);
    const second = { holder: '2', partitions: PARTITIONS, busy: [], isLeaving: false };
    await claimWork(postgres, second);
    await claimWork(postgres, second);
    const busy = [0, 1, 2, 3, 4, 5];
    for (let n = 0; n < 3; n += 1) {
      const { surplus } = await claimWork(postgres, { ...second, holder: '1', busy });
      expect([...surplus]).toEqual([3, 4, 5]);
      expect((await claimWork(postgres, second)).owned).toEqual(new Set());
    }
    await claimWork(postgres, { ...second, holder: '1', busy: [0, 1, 2, 3] });
    expect((await claimWork(postgres, second)).owned).toEqual(new Set([4, 5]));
  });

  test('what a leaving process gives back is taken at the next look of the others', async () => {
    const [first, second, third] = [claimant('1'), claimant('2'), claimant('3')];
    await rounds(4, first, second, third);
    await third.leave();
    expect(await rounds(1, first, second)).toEqual([3, 3]);
    await second.leave();
    expect(await rounds(1, first)).toEqual([6]);
    expect([first, second, third].flatMap(({ lost }) => lost)).toEqual([]);
  });

  test('what a leaving process works on is surplus only while another process stays', async () => {
    const first = claimant('1');
    await rounds(2, first);
    const busy = first.owned();
    const leaving = { holder: '1', partitions: PARTITIONS, busy, isLeaving: true };
    const second = { holder: '2', partitions: PARTITIONS, busy: [], isLeaving: false };
    const surplus = async () => [...(await claimWork(postgres, leaving)).surplus];
    expect(await surplus()).toEqual([]);
    await claimWork(postgres, second);
    expect(await surplus()).toEqual(busy);
    await claimWork(postgres, { ...second, isLeaving: true });
    expect(await surplus()).toEqual([]);
    expect((await claimWork(postgres, leaving)).owned).toEqual(new Set(busy));
  });

  test('the partitions of a killed process are taken once it was not seen for two seconds, not before', async () => {
    const [first, second] = [claimant('1'), claimant('2')];
    await rounds(4, first, second);
    expect(await rounds(1, first)).toEqual([3]);
    await expire('2');
    expect(await rounds(1, first)).toEqual([6]);
  });

  test('a frozen process finds out that it has lost what another one took, and gets its share again', async () => {
    const [first, second] = [claimant('1'), claimant('2')];
    await rounds(4, first, second);
    const had = second.owned();
    await expire('2');
    await rounds(1, first);
    expect(await rounds(1, second)).toEqual([0]);
    expect(second.lost).toEqual(had);
    expect(await rounds(2, first, second)).toEqual([3, 3]);
    assertShared(first, second);
  });

  test('a frozen process keeps what nobody else has taken', async () => {
    const first = claimant('1');
    await rounds(2, first);
    await expire('1');
    expect(await rounds(1, first)).toEqual([6]);
    expect(first.lost).toEqual([]);
  });

  test('after Postgres crashes and empties the tables, owners keep what they have, whoever looks first', async () => {
    const [first, second, third] = [claimant('1'), claimant('2'), claimant('3')];
    await rounds(4, first, second, third);
    await owner.query('truncate claims, claimants');
    expect(await rounds(3, third, second, first)).toEqual([2, 2, 2]);
    assertShared(first, second, third);
    expect([first, second, third].flatMap(({ lost }) => lost)).toEqual([]);
  });

  test('a lost answer changes nothing: what was taken in it is given back, and taken again', async () => {
    const request = { holder: '1', partitions: PARTITIONS, busy: [], isLeaving: false };
    await claimWork(postgres, request);
    const taken = await claimWork(postgres, request);
    expect(taken.owned.size).toBe(6);
    expect((await claimWork(postgres, request)).owned.size).toBe(0);
    expect(await claimWork(postgres, request)).toEqual(taken);
    const leaving = { ...request, isLeaving: true };
    await claimWork(postgres, leaving);
    const second = claimant('2');
    await rounds(2, second);
    await claimWork(postgres, leaving);
    expect(await rounds(1, second)).toEqual([6]);
  });

  test('processes that look at the same time never share a partition for longer than a look', async () => {
    const claimants = ['1', '2', '3', '4'].map(claimant);
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(claimants.map(({ look }) => look()));
      if (round === 3) await expire('1');
      const all = claimants.flatMap(({ owned }) => owned());
      if (round !== 4) expect(all).toHaveLength(new Set(all).size);
    }
    assertShared(...claimants);
    expect(Math.max(...claimants.map(({ owned }) => owned().length))).toBe(2);
  });
});
