import { expect, test } from '@jest/globals';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { PostgresRefused } from '@makerbook/postgres';
import { silentLogger } from '@makerbook/telemetry';
import type { OpenOrderRow, ProjectedPartition } from '../store/read-open-orders.js';
import { forgetEnded } from './forget-ended.js';
import { WatchedSet } from './watched-set.js';

const hashOf = (number: number): Hex => `0x${String(number).padStart(64, '0')}`;
const accountOf = (byte: string): Address => `0x${byte.repeat(20)}`;
const [maker, quarantined] = [accountOf('a1'), accountOf('a2')];
const START = 100n;

function orderOf(number: number, ofMaker = maker): OpenOrderRow {
  const tokens = { makingToken: accountOf('b1'), takingToken: accountOf('b2') };
  return {
    orderHash: hashOf(number),
    maker: ofMaker,
    ...tokens,
    expiresAtSeconds: 2 ** 31,
    isRead: true,
    walletSignature: null,
  };
}

/** Runs until the set's size has been checked `looks` times. The rows have these open orders, up to an offset. */
async function forget(
  watched: WatchedSet,
  open: readonly number[],
  nextOffset: bigint,
  { looks = 1, fails = 0, position = 1000n, onLoaded = () => {} } = {},
) {
  const stopping = new AbortController();
  let [looked, read] = [0, 0];
  const rows: ProjectedPartition = {
    ...{ partition: 0, nextOffset, block: undefined, newestRead: -1, makers: [maker, quarantined] },
    quarantined: new Map([[quarantined, 120n]]),
  };
  await forgetEnded({
    watched,
    followed: {
      startOf: () => START,
      partitions: [{ block: undefined, blockReadAtMs: 0, position }],
    },
    partitions: 1,
    moreOrdersMin: 3,
    loadOrders: async (onOrders) => {
      read += 1;
      if (read <= fails) throw new PostgresRefused('permission denied');
      onOrders(open.map((number) => orderOf(number)));
      onLoaded();
      return [rows];
    },
    logger: silentLogger,
    signal: stopping.signal,
    wait: async () => {
      looked += 1;
      // Add these once the size at the beginning is noted.
      if (looked === 1) for (const [number, offset, of] of added) watched.add(orderOf(number, of), undefined, offset);
      if (looked > looks) stopping.abort();
    },
  });
  return { read, left: [1, 2, 3, 4, 5, 6, 7, 8].filter((number) => watched.findOrder(hashOf(number)) >= 0) };
}
let added: readonly (readonly [number: number, offset: bigint | undefined, of?: Address])[];

test('orders that the rows have folded and do not hold are forgotten; those they cannot hold stay', async () => {
  const watched = new WatchedSet();
  added = [
    [1, undefined],
    [2, undefined],
    [3, 110n],
    [4, 111n],
    [5, 150n],
    [6, 119n, quarantined],
    [7, 120n, quarantined],
  ];
  expect(await forget(watched, [1, 3], 150n)).toEqual({ read: 1, left: [1, 3, 5, 7] });
});

test('orders that the rows have lost in a failover stay', async () => {
  const watched = new WatchedSet();
  added = [
    [1, undefined],
    [2, 98n],
    [3, 110n],
  ];
  expect(await forget(watched, [], 99n)).toEqual({ read: 1, left: [1, 3] });
});

test('an order that comes from the log after its row was read stays', async () => {
  const watched = new WatchedSet();
  added = [1, 2, 3].map((number) => [number, 110n] as const);
  const onLoaded = () => watched.add(orderOf(4), undefined, 130n);
  expect(await forget(watched, [1, 4], 150n, { position: 130n, onLoaded })).toEqual({ read: 1, left: [1, 4] });
});

test('the rows are read once the set has doubled, and again if they could not be read', async () => {
  const watched = new WatchedSet();
  for (const number of [1, 2, 3, 4]) watched.add(orderOf(number));
  added = [5, 6, 7].map((number) => [number, 110n] as const);
  expect((await forget(watched, [1, 2], 150n)).read).toBe(0);
  added = [[8, 110n]];
  expect(await forget(watched, [1, 2, 3, 4, 5, 6, 7, 8], 150n, { looks: 5 })).toMatchObject({ read: 0 });
  const other = new WatchedSet();
  added = [1, 2, 3].map((number) => [number, 110n] as const);
  expect(await forget(other, [1], 150n, { looks: 4, fails: 2 })).toEqual({ read: 3, left: [1] });
});
