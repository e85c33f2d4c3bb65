import { expect, test } from '@jest/globals';
import { allowance, balanceOf, cancelledOf, filledOf, nonceOf, type StateCall } from '@makerbook/chain';
import type { MakerEvent } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { keyOf } from '../simulation/chain/keep-chain.js';
import type { OrderHistory } from './judge-orders.js';
import { judgeStates } from './judge-states.js';

const [maker, token, protocol] = [`0x${'aa'.repeat(20)}`, `0x${'bb'.repeat(20)}`, `0x${'ee'.repeat(20)}`] as const;
const orderHash: Hex = `0x${'cc'.repeat(32)}`;
const expiresAt = 10_000;
const order = {
  salt: '0x1',
  nonce: '0x0',
  expiresAt: '0x2710',
  making: { token, amount: '0xa' },
  taking: { token: protocol, amount: '0x1' },
  maker,
  permittedTaker: `0x${'0'.repeat(40)}`,
} as const;
const signature: Hex = `0x${'5'.repeat(130)}`;
const history: OrderHistory = {
  signed: { order, orderHash, signature },
  request: 0,
  wasAhead: false,
  posts: [],
  cancels: [],
};

const block = (number: number) => ({ number, hash: `0x${'0'.repeat(63)}${number}` as Hex, timestamp: 100 + number });
const processed = (number: number): MakerEvent => ({ type: 'BlockProcessed', block: block(number) });
/** The order is read at block 1, with funds for all of it, and two blocks follow. */
const facts: readonly MakerEvent[] = [
  {
    type: 'OrderSubmitted',
    maker,
    orderHash,
    order,
    signature,
    acceptedAtMs: 100_000,
    cause: { kind: 'request', requestId: 'request' },
  },
  {
    type: 'MakerObserved',
    maker,
    block: block(1),
    cause: { kind: 'read', occasion: 'ORDER' },
    nonce: '0x0',
    funds: [{ token, balance: '0xa', allowance: '0xa' }],
    orders: [{ orderHash, filled: '0x0', cancelled: false }],
  },
  ...[1, 2, 3].map(processed),
];

/** What is wrong by a chain on which a call returns something else from a block on. */
function judge(change?: readonly [StateCall, bigint], since = 2, seconds = 0) {
  const values = new Map([
    [keyOf(balanceOf(token, maker)), 10n],
    [keyOf(allowance(token, maker, protocol)), 10n],
  ]);
  const changed = change && new Map(values).set(keyOf(change[0]), change[1]);
  const at = (number: number) => ({
    header: { number, timestamp: 100 + number + seconds },
    values: number >= since ? (changed ?? values) : values,
  });
  const chain = { head: at(3), at };
  const feed = { facts: () => new Map(facts.map((fact, offset) => [BigInt(offset), fact])) };
  return judgeStates([history], feed, { chain, protocol, partitions: 1 });
}

test('an order that the chain allows is right, when it becomes ACTIVE and after each block', () => {
  expect(judge()).toEqual({ wrong: [], held: 4, capped: 0 });
});

test.each<[string, StateCall, bigint, RegExp]>([
  ['cancelled', cancelledOf(protocol, orderHash), 1n, /it was cancelled/],
  ['filled', filledOf(protocol, orderHash), 10n, /10 of 10 were filled/],
  ['filled in part', filledOf(protocol, orderHash), 1n, /1 of 10 were filled/],
  ['of another nonce', nonceOf(protocol, maker), 1n, /the nonce was another one/],
  ['not funded', balanceOf(token, maker), 9n, /the balance was 9/],
  ['not allowed', allowance(token, maker, protocol), 9n, /the allowance was 9/],
])('an ACTIVE order that is %s is found from that block on', (_, call, value, why) => {
  const { wrong, held } = judge([call, value]);
  expect(held).toBe(2);
  expect(wrong.filter((text) => why.test(text) && /with block [23] processed/.test(text))).toHaveLength(2);
  expect(judge([call, value], 1).wrong.filter((text) => /became ACTIVE/.test(text))).toHaveLength(1);
});

test('an ACTIVE order in its last minute by the chain is found', () => {
  expect(judge(undefined, 2, expiresAt - 161).wrong).toEqual(
    expect.arrayContaining([expect.stringMatching(/with block 2 processed.*it was in its last seconds/)]),
  );
});
