import { expect, test } from '@jest/globals';
import type { SignedOrder } from '@makerbook/client';
import { until } from '@makerbook/parts';
import { type PlacingMaker, placeAndCancel } from './place-and-cancel.js';

const LOAD = { roundsPerSecond: 200, openOrders: 2 };

/** A service in memory: `listed` says what a list holds of the orders that are open. */
function openFake(listed: (open: readonly string[]) => readonly string[]) {
  const open = new Set<string>();
  let signed = 0;
  const maker = {
    client: {
      placeOrders: async (orders: readonly SignedOrder[]) => {
        for (const { orderHash } of orders) open.add(orderHash);
        return [];
      },
      listOrders: async () => ({ records: listed([...open]).map((orderHash) => ({ orderHash })), readLag: 0 }),
      cancelOrders: async ([order]: readonly { readonly orderHash: string }[]) => {
        open.delete(order?.orderHash ?? '');
        return [{ status: 'CANCELLED' }];
      },
    },
    sign: async () => {
      signed += 1;
      return { orderHash: `0x${signed}`, order: { salt: '0x1' } };
    },
  };
  return { maker: maker as unknown as PlacingMaker, open };
}

test('keeps the newest orders open, and knows what was acknowledged', async () => {
  const { maker, open } = openFake((all) => all);
  const load = placeAndCancel([maker], LOAD);
  await until(() => load.tookMs.cancel.length >= 3);
  const acknowledged = await load.stop();
  expect(load.failures).toEqual([]);
  expect(open.size).toBe(2);
  expect([...acknowledged].filter(([, state]) => state === 'placed').map(([hash]) => hash)).toEqual([...open]);
  expect(load.tookMs.place).toHaveLength(acknowledged.size);
});

test('notes an acknowledged order that a list misses', async () => {
  const { maker } = openFake((all) => all.slice(1));
  const load = placeAndCancel([maker], LOAD);
  await until(() => load.failures.length > 0);
  await load.stop();
  expect(load.failures[0]).toMatch(/ s: the list misses 1 of \d acknowledged orders$/);
});
