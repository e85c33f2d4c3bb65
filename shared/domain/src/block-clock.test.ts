import { describe, expect, test } from '@jest/globals';
import type { Hex, MakerEvent } from '@makerbook/contracts-events';
import { evolve, type Rules } from './evolve.js';
import { unknownMaker } from './maker.js';
import { rememberHashes } from './remember-hashes.js';

const maker: Hex = `0x${'1'.repeat(40)}`;
const token: Hex = `0x${'a'.repeat(40)}`;
const hash: Hex = `0x${'1'.repeat(64)}`;
const acceptedSeconds = 1_000;
const expiresAt = 2_000;
const block = (timestamp: number) => ({ number: timestamp, hash, timestamp });
const rules: Rules = { routingGraceSeconds: 60, ...rememberHashes() };

const submitted = (nonce: Hex, orderHash = hash): MakerEvent => ({
  type: 'OrderSubmitted',
  maker,
  orderHash,
  order: {
    salt: '0x1',
    nonce,
    expiresAt: `0x${expiresAt.toString(16)}`,
    making: { token, amount: '0x64' },
    taking: { token: `0x${'b'.repeat(40)}`, amount: '0x1' },
    maker,
    permittedTaker: `0x${'0'.repeat(40)}`,
  },
  signature: `0x${'5'.repeat(130)}`,
  acceptedAtMs: acceptedSeconds * 1000 - 1,
  cause: { kind: 'request', requestId: 'r' },
});
const nonceRead = (nonce: Hex, at = acceptedSeconds): MakerEvent => ({
  type: 'NonceChanged',
  maker,
  nonce,
  block: block(at),
  cause: { kind: 'read', occasion: 'ORDER' },
});
const processed = (timestamp: number): MakerEvent => ({ type: 'BlockProcessed', block: block(timestamp) });
const cancelled: MakerEvent = {
  type: 'OrderCancelled',
  maker,
  orderHash: hash,
  expiresAtSeconds: expiresAt,
  cause: { kind: 'request', requestId: 'r' },
};

function dueAfter(...facts: MakerEvent[]): number {
  const placed = facts.map((fact, offset) => ({ fact, offset: BigInt(offset), clockSeconds: 0, processedBlock: -1 }));
  return evolve(unknownMaker(maker), placed, rules).maker.dueAtSeconds;
}

describe('the second at which a block next has to look at a maker', () => {
  test('is the end of the order’s time in the feed, also while the nonce was never read', () => {
    expect(dueAfter(submitted('0x0'))).toBe(expiresAt - 60);
    expect(dueAfter(submitted('0x5'))).toBe(expiresAt - 60);
    expect(dueAfter(submitted('0x0'), nonceRead('0x0'))).toBe(expiresAt - 60);
  });

  test('is the expiry for an order that is out of the feed already', () => {
    expect(dueAfter(submitted('0x0'), processed(expiresAt - 60))).toBe(expiresAt);
  });

  test('is the acceptance for an order that is ahead of the nonce, whichever comes first', () => {
    expect(dueAfter(submitted('0x5'), nonceRead('0x4'))).toBe(acceptedSeconds);
    expect(dueAfter(submitted('0x0'), nonceRead('0x0'), submitted('0x5', `0x${'2'.repeat(64)}`))).toBe(acceptedSeconds);
  });

  test('does not come for a maker without open orders', () => {
    expect(dueAfter(submitted('0x0'), cancelled)).toBe(Number.POSITIVE_INFINITY);
    expect(dueAfter(nonceRead('0x1'))).toBe(Number.POSITIVE_INFINITY);
  });

  test('a nonce that was read long after the acceptance removes an order ahead of it at the next block', () => {
    const facts = [submitted('0x5'), processed(1_500), nonceRead('0x4', 1_500), processed(1_501)];
    const placed = facts.map((fact, offset) => ({ fact, offset: BigInt(offset), clockSeconds: 0, processedBlock: -1 }));
    const { transitions } = evolve(unknownMaker(maker), placed, rules);
    expect(transitions.map(({ kind, offset }) => [kind, offset])).toEqual([
      ['OrderOpened', 0n],
      ['MakerChanged', 2n],
      ['OrderRemoved', 3n],
    ]);
  });
});
