import { describe, expect, test } from '@jest/globals';
import type { Address } from '@makerbook/contracts-primitives';
import { createPlaces } from './take-places.js';

const walletOf = (number: number): Address => `0x${number.toString(16).padStart(40, '0')}`;
const [one, two] = [walletOf(1), walletOf(2)];
const limits = { ofWalletMax: 3, inAllMax: 5, waitingMax: 2 };

/** Takes a place, or throws if there is none. */
async function taken(leave: Promise<(() => void) | undefined>): Promise<() => void> {
  const left = await leave;
  if (left === undefined) throw new Error('there is no place');
  return left;
}

describe('a client', () => {
  test('has one place at a wallet, where its other requests wait in turn, and one for exits', async () => {
    const places = createPlaces(limits);
    const order: number[] = [];
    const leave = await taken(places.take([one], 'a', false));
    const waiting = [1, 2].map(async (number) => {
      const leaveNext = await taken(places.take([one], 'a', false));
      order.push(number);
      leaveNext();
    });
    expect(await places.take([one], 'a', false)).toBeUndefined();
    (await taken(places.take([one], 'a', true)))();
    (await taken(places.take([two], 'a', false)))();
    (await taken(places.take([one], 'b', false)))();
    expect(order).toEqual([]);
    leave();
    await Promise.all(waiting);
    expect(order).toEqual([1, 2]);
    (await taken(places.take([one], 'a', false)))();
  });

  test('that asks several wallets takes no place if one of them has none', async () => {
    const places = createPlaces({ ...limits, waitingMax: 0 });
    const leave = await taken(places.take([two], 'a', false));
    expect(await places.take([two, one], 'a', false)).toBeUndefined();
    const leaveOne = await taken(places.take([one], 'a', false));
    leave();
    leaveOne();
    (await taken(places.take([two, one, two], 'a', false)))();
  });

  test('never blocks itself with requests for the same wallets in another order', async () => {
    const places = createPlaces(limits);
    const both = Array.from({ length: 3 }, async (_, n) => {
      const leave = await taken(places.take(n % 2 === 0 ? [one, two] : [two, one], 'a', false));
      await new Promise(setImmediate);
      leave();
    });
    await Promise.all(both);
  });
});

describe('the last place', () => {
  test('of a wallet is kept for exits', async () => {
    const places = createPlaces(limits);
    const left = [await taken(places.take([one], 'a', false)), await taken(places.take([one], 'b', false))];
    expect(await places.take([one], 'c', false)).toBeUndefined();
    const leave = await taken(places.take([one], 'c', true));
    expect(await places.take([one], 'd', true)).toBeUndefined();
    leave();
    for (const leaveOne of left) leaveOne();
    (await taken(places.take([one], 'c', false)))();
  });

  test('of all wallets is kept for exits, and a place that was left can be taken again', async () => {
    const places = createPlaces(limits);
    for (let round = 0; round < 20; round += 1) {
      const left: (() => void)[] = [];
      for (let number = 0; number < 4; number += 1) left.push(await taken(places.take([walletOf(number)], 'a', false)));
      expect(await places.take([walletOf(9)], 'a', false)).toBeUndefined();
      left.push(await taken(places.take([walletOf(9)], 'a', true)));
      expect(await places.take([walletOf(8)], 'a', true)).toBeUndefined();
      for (const leave of left) leave();
    }
  });
});
