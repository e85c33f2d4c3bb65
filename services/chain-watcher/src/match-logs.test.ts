import { describe, expect, test } from '@jest/globals';
import type { ChainLog } from '@makerbook/chain';
import type { Cause, Hex } from '@makerbook/contracts-events';
import { type Address, eventTopics } from '@makerbook/contracts-evm';
import { WatchedSet } from './keep-watched-set.js';
import { matchLogs } from './match-logs.js';

const accountOf = (byte: string): Address => `0x${byte.repeat(20)}`;
const hashOf = (byte: string): Hex => `0x${byte.repeat(32)}`;
const [protocol, maker, other, stranger] = [accountOf('f0'), accountOf('a1'), accountOf('a2'), accountOf('a3')];
const [token, second, unsold] = [accountOf('b1'), accountOf('b2'), accountOf('b3')];
const [hash, hashOfSecond, hashOfOther] = [hashOf('11'), hashOf('22'), hashOf('33')];

/** The maker sells two tokens, the other one the first of them. */
const orders: readonly (readonly [Hex, Address, Address])[] = [
  [hash, maker, token],
  [hashOfSecond, maker, second],
  [hashOfOther, other, token],
];
const watched = new WatchedSet(1);
for (const [at, [orderHash, ofMaker, making]] of orders.entries()) {
  const order = {
    salt: '0x0',
    nonce: '0x0',
    expiresAt: '0xffffffff',
    making: { token: making, amount: '0x1' },
    taking: { token: unsold, amount: '0x1' },
    maker: ofMaker,
    permittedTaker: `0x${'0'.repeat(40)}`,
  } as const;
  const cause: Cause = { kind: 'request', requestId: 'r' };
  const signature: Hex = `0x${'0'.repeat(130)}`;
  const submitted = { type: 'OrderSubmitted', maker: ofMaker, orderHash, order, signature, acceptedAtMs: 0 } as const;
  watched.apply(0, { ...submitted, cause }, BigInt(at));
}

/** An account as a topic. */
const word = (account: Address): Hex => `0x${'0'.repeat(24)}${account.slice(2)}`;
const log = (address: Address, topics: readonly Hex[], logIndex = 0): ChainLog => ({
  address,
  topics,
  data: `0x${'0'.repeat(64)}`,
  blockNumber: 7,
  blockHash: hashOf('77'),
  transactionHash: hashOf('88'),
  logIndex,
});
const transfer = (of: Address, from: Address, to: Address, logIndex = 0) =>
  log(of, [eventTopics.transfer, word(from), word(to)], logIndex);
const fill = (by: Address, orderHash: Hex = hash, logIndex = 0) =>
  log(by, [eventTopics.orderFilled, word(maker), orderHash], logIndex);
const approval = (of: Address, owner: Address, spender: Address) =>
  log(of, [eventTopics.approval, word(owner), word(spender)]);

const touchedBy = (logs: readonly ChainLog[], joined: readonly number[] = []) =>
  matchLogs(logs, watched, protocol, joined);
/** Who is touched, without the causes. */
const namesIn = ({ pairs, makers, orders: hit }: ReturnType<typeof matchLogs>) => ({
  pairs: pairs.map((pair) => [pair.maker, pair.token]),
  makers: makers.map((each) => each.maker),
  orders: hit.map((order) => [order.maker, order.orderHash]),
});
const nobody = { pairs: [], makers: [], orders: [] };
const pair = [maker, token];
const otherPair = [other, token];
const causeAt = (logIndex: number) => ({ kind: 'log', transactionHash: hashOf('88'), logIndex });

describe('what a log touches', () => {
  test.each<[string, ChainLog, object]>([
    ['a Transfer from a maker: its pair', transfer(token, maker, stranger), { pairs: [pair] }],
    ['a Transfer to a maker: its pair', transfer(token, stranger, maker), { pairs: [pair] }],
    ['a Transfer between makers: both pairs', transfer(token, maker, other), { pairs: [pair, otherPair] }],
    ['a Transfer between others: nothing', transfer(token, stranger, protocol), {}],
    ['a Transfer of a token that the maker does not sell: nothing', transfer(second, other, stranger), {}],
    ['a Transfer of a token that nobody sells: nothing', transfer(unsold, maker, other), {}],
    ['an Approval for the protocol: the pair', approval(token, maker, protocol), { pairs: [pair] }],
    ['an Approval for anybody else: nothing', approval(token, maker, stranger), {}],
    ['an Approval by somebody else: nothing', approval(token, stranger, protocol), {}],
    ['a Deposit: the pair', log(token, [eventTopics.deposit, word(maker)]), { pairs: [pair] }],
    ['a Withdrawal: the pair', log(token, [eventTopics.withdrawal, word(maker)]), { pairs: [pair] }],
    ['a fill: the order and its pair', fill(protocol), { orders: [[maker, hash]], pairs: [pair] }],
    [
      'a cancellation: the order and its pair',
      log(protocol, [eventTopics.orderCancelled, word(maker), hashOfSecond]),
      { orders: [[maker, hashOfSecond]], pairs: [[maker, second]] },
    ],
    [
      'a cancellation of all orders: the maker',
      log(protocol, [eventTopics.allOrdersCancelled, word(other)]),
      { makers: [other] },
    ],
    ['a fill of an order that is not open: nothing', fill(protocol, hashOf('44')), {}],
    ['a fill that another contract tells of: nothing', fill(stranger), {}],
    ['a fill that a watched token tells of: nothing', fill(token), {}],
    [
      'a cancellation that another contract tells of: nothing',
      log(stranger, [eventTopics.orderCancelled, word(maker), hash]),
      {},
    ],
    [
      'a cancellation of all orders that another contract tells of: nothing',
      log(stranger, [eventTopics.allOrdersCancelled, word(maker)]),
      {},
    ],
    ['a Transfer of the protocol itself: nothing', transfer(protocol, maker, other), {}],
    ['another topic of a watched token: nothing', log(token, [hashOf('99'), word(maker), word(other)]), {}],
    ['a log without topics: nothing', log(token, []), {}],
    ['a Transfer without a receiver: its sender', log(token, [eventTopics.transfer, word(maker)]), { pairs: [pair] }],
    ['an Approval without a spender: nothing', log(token, [eventTopics.approval, word(maker)]), {}],
  ])('%s', (_what, said, expected) => {
    expect(namesIn(touchedBy([said]))).toEqual({ ...nobody, ...expected });
  });

  test('is named with the log that told of it', () => {
    expect(
      touchedBy([fill(protocol, hash, 3), log(protocol, [eventTopics.allOrdersCancelled, word(other)], 4)]),
    ).toEqual({
      pairs: [{ maker, token, cause: causeAt(3) }],
      makers: [{ maker: other, cause: causeAt(4) }],
      orders: [{ maker, orderHash: hash, cause: causeAt(3) }],
    });
  });
});

describe('the logs of a block together', () => {
  const cancelAll = (logIndex: number) => log(protocol, [eventTopics.allOrdersCancelled, word(maker)], logIndex);

  test('touch each pair, maker and order once, by the first of them', () => {
    const logs = [transfer(token, maker, stranger, 1), fill(protocol, hash, 2), fill(protocol, hash, 3)];
    expect(touchedBy([...logs, cancelAll(4), cancelAll(5), transfer(token, stranger, maker, 6)])).toEqual({
      pairs: [{ maker, token, cause: causeAt(1) }],
      makers: [{ maker, cause: causeAt(4) }],
      orders: [{ maker, orderHash: hash, cause: causeAt(2) }],
    });
  });

  test('touch in the order of the logs', () => {
    const logs = [transfer(token, other, stranger, 1), fill(protocol, hashOfSecond, 2), fill(protocol, hash, 3)];
    expect(namesIn(touchedBy(logs))).toEqual({
      pairs: [otherPair, [maker, second], pair],
      makers: [],
      orders: [
        [maker, hashOfSecond],
        [maker, hash],
      ],
    });
  });
});

describe('pairs that an order joined', () => {
  const joined = [watched.findPair(token, maker), watched.findPair(second, maker)];
  const cause: Cause = { kind: 'read', occasion: 'ORDER' };

  test('are touched though no log names them, with their makers, each once', () => {
    expect(touchedBy([], [...joined, ...joined])).toEqual({
      pairs: [
        { maker, token, cause },
        { maker, token: second, cause },
      ],
      makers: [{ maker, cause }],
      orders: [],
    });
  });

  test('keep the log that touches them already', () => {
    expect(touchedBy([transfer(token, maker, stranger, 5)], joined)).toEqual({
      pairs: [
        { maker, token, cause: causeAt(5) },
        { maker, token: second, cause },
      ],
      makers: [{ maker, cause }],
      orders: [],
    });
  });
});
