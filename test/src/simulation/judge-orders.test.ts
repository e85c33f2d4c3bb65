import { describe, expect, test } from '@jest/globals';
import { type ChainState, judgeOrder, readChain, type TrackedOrder } from './judge-orders.js';
import { trackedOrder } from './testing/track-order.js';

/** An order over 10 with nonce 1, that expires at 1000 and was open before; the chain at block 7 and second 100. */
interface Case {
  readonly order?: Partial<TrackedOrder>;
  readonly chain?: {
    readonly nonce?: bigint;
    readonly balance?: bigint;
    readonly allowance?: bigint;
    readonly filled?: bigint;
    readonly isCancelled?: boolean;
    readonly wasAhead?: boolean;
    readonly timestamp?: number;
  };
}

function judge({ order = {}, chain = {} }: Case) {
  const { nonce = 1n, balance = 10n, allowance = 10n, filled = 0n, isCancelled = false } = chain;
  const state: ChainState = {
    head: { number: 7, timestamp: chain.timestamp ?? 100 },
    nonce: () => nonce,
    balance: () => balance,
    allowance: () => allowance,
    filled: () => filled,
    isCancelled: () => isCancelled,
    wasAhead: () => chain.wasAhead ?? false,
  };
  const verdict = judgeOrder(trackedOrder({ nonce: 1n, wasOpen: true, ...order }), state);
  return { ...verdict, reasons: [...verdict.reasons] };
}

describe('an open order', () => {
  test.each<[string, NonNullable<Case['chain']>, string]>([
    ['can be filled', {}, 'ACTIVE 10'],
    ['with what is left of it', { filled: 3n, balance: 7n, allowance: 7n }, 'ACTIVE 7'],
    ['lacks one unit of balance', { balance: 9n }, 'INSUFFICIENT_BALANCE 10'],
    ['lacks one unit of allowance', { allowance: 9n }, 'INSUFFICIENT_ALLOWANCE 10'],
    ['lacks both, of which the allowance is said', { balance: 0n, allowance: 0n }, 'INSUFFICIENT_ALLOWANCE 10'],
    ['lacks funds for what is left', { filled: 3n, balance: 6n }, 'INSUFFICIENT_BALANCE 7'],
  ])('%s', (_, chain, said) => {
    expect(judge({ chain })).toEqual({ allowed: [said], reasons: [], isRoutable: true });
  });

  test.each<[number, boolean]>([
    [939, true],
    [940, false],
    [999, false],
  ])('at second %i of 1000 is routable: %s', (timestamp, isRoutable) => {
    expect(judge({ chain: { timestamp } })).toEqual({ allowed: ['ACTIVE 10'], reasons: [], isRoutable });
  });
});

describe('an order is gone', () => {
  test.each<[string, Case, string[]]>([
    ['deleted', { order: { isDeleted: true } }, ['CANCELLED']],
    ['cancelled on the chain', { chain: { isCancelled: true } }, ['CANCELLED_ONCHAIN']],
    ['filled', { chain: { filled: 10n } }, ['FILLED']],
    ['of a nonce that is over', { chain: { nonce: 2n } }, ['NONCE_CHANGED']],
    ['expired', { chain: { timestamp: 1000 } }, ['EXPIRED']],
    [
      'all of it: any of the reasons may be said',
      { order: { isDeleted: true }, chain: { isCancelled: true, filled: 10n, nonce: 2n, timestamp: 1001 } },
      ['CANCELLED', 'CANCELLED_ONCHAIN', 'FILLED', 'NONCE_CHANGED', 'EXPIRED'],
    ],
  ])('%s', (_, one, reasons) => {
    expect(judge(one)).toEqual({ allowed: ['gone'], reasons, isRoutable: false });
  });
});

describe('an order that is ahead of its maker’s nonce', () => {
  const order = { nonce: 2n, wasOpen: false };
  const chain = { wasAhead: true };

  test('is gone', () => {
    expect(judge({ order, chain })).toMatchObject({ allowed: ['gone'], reasons: ['NONCE_CHANGED'] });
  });

  test('and was reached meanwhile may be open or gone; one that was open before is open', () => {
    const reached = { ...chain, nonce: 2n };
    expect(judge({ order, chain: reached }).allowed).toEqual(['ACTIVE 10', 'gone']);
    expect(judge({ order: { ...order, wasOpen: true }, chain: reached })).toMatchObject({
      allowed: ['ACTIVE 10'],
      reasons: [],
    });
  });
});

test('the chain is asked at one block, and for the nonce of a new order at each since the last comparison', async () => {
  const asked: string[] = [];
  const ask =
    (what: string, answer: (block: number) => bigint) => async (name: string, second: unknown, block?: number) => {
      const at = block ?? Number(second);
      asked.push(`${what} ${name} ${at}`);
      return answer(at);
    };
  const contracts = {
    nonce: ask('nonce', (block) => (block < 6 ? 0n : 1n)),
    filled: ask('filled', () => 4n),
    isCancelled: async () => true,
    balance: ask('balance', () => 5n),
    allowance: ask('allowance', () => 6n),
  };
  const one = trackedOrder({ nonce: 1n, comparedBeforeBlock: 5 });
  const other = trackedOrder({ nonce: 1n, comparedBeforeBlock: 6 });
  const { maker, token, signed } = one;
  const state = await readChain(
    contracts,
    { number: 7, timestamp: 100 },
    { makers: [maker], tokens: [token], orders: [one, other] },
  );
  expect([state.nonce(maker), state.balance(maker, token), state.allowance(maker, token)]).toEqual([1n, 5n, 6n]);
  expect([state.filled(signed.orderHash), state.isCancelled(signed.orderHash)]).toEqual([4n, true]);
  expect([state.wasAhead(one), state.wasAhead(other)]).toEqual([true, false]);
  expect(asked.filter((each) => !each.startsWith('nonce') && !each.endsWith(' 7'))).toEqual([]);
});
