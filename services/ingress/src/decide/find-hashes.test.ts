import { expect, test } from '@jest/globals';
import type { HashRows } from '@makerbook/domain';
import { findTogether } from './find-hashes.js';

const hash = `0x${'01'.repeat(32)}` as const;
const order = { maker: `0x${'02'.repeat(20)}`, salt: '0x3', expiresAtSeconds: 4 } as const;
const NOW_MS = 5;

/** A store that has the rows `before` for the hash, and `after` once it is noted. */
function findIn(before: HashRows, after: HashRows) {
  let rows = before;
  const noted: number[] = [];
  const find = findTogether({
    findHashes: async (hashes) => ({ rows: hashes.map(() => rows), trustedSinceMs: 1, nowMs: NOW_MS }),
    note: async (hashes) => {
      noted.push(hashes.length);
      rows = after;
    },
  });
  return { find: async (mayNote: boolean) => (await find([hash], mayNote))[0], noted };
}

const unknown: HashRows = { isAccepted: false };

test('a hash without a row is unknown once it is noted', async () => {
  const { find, noted } = findIn(unknown, { ...unknown, notedUntilMs: NOW_MS });
  expect(await find(false)).toEqual({ state: 'UNSURE' });
  expect(noted).toEqual([]);
  expect(await find(true)).toEqual({ state: 'UNKNOWN' });
  expect(noted).toEqual([1]);
});

test('a hash whose order comes while it is being noted is read again and found', async () => {
  const { find } = findIn(unknown, { open: order, isAccepted: true, notedUntilMs: NOW_MS });
  expect(await find(true)).toEqual({ state: 'FOUND', ...order, isInFlight: false });
});

test('a hash that could not be noted because its order is being placed is not unknown', async () => {
  const { find } = findIn(unknown, { inFlight: order, isAccepted: false });
  expect(await find(true)).toEqual({ state: 'FOUND', ...order, isInFlight: true });
  expect(await findIn(unknown, unknown).find(true)).toEqual({ state: 'UNSURE' });
});
