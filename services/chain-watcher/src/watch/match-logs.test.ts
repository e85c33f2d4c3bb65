import { describe, expect, test } from '@jest/globals';
import type { ChainLog } from '@makerbook/chain';
import { eventTopics } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { matchLogs } from './match-logs.js';
import { WatchedSet } from './watched-set.js';

const accountOf = (byte: string): Address => `0x${byte.repeat(20)}`;
const hashOf = (byte: string): Hex => `0x${byte.repeat(32)}`;
const [protocol, maker, other, stranger] = [accountOf('f0'), accountOf('a1'), accountOf('a2'), accountOf('a3')];
const [token, second, unsold] = [accountOf('b1'), accountOf('b2'), accountOf('b3')];
const [hash, hashOfSecond, hashOfOther] = [hashOf('11'), hashOf('22'), hashOf('33')];

/** The maker sells two tokens. The other maker sells the first of them. */
const orders: readonly (readonly [Hex, Address, Address])[] = [
  [hash, maker, token],
  [hashOfSecond, maker, second],
  [hashOfOther, other, token],
];
const watched = new WatchedSet();
for (const [orderHash, ofMaker, making] of orders) {
  const of = {
    maker: ofMaker,
    makingToken: making,
    takingToken: unsold,
    expiresAtSeconds: 2 ** 31,
    walletSignature: null,
  };
  watched.add({ orderHash, ...of }, undefined);
}

/** An account as a topic. */
const word = (account: Address): Hex => `0x${'0'.repeat(24)}${account.slice(2)}`;
const log = (address: Address, topics: readonly Hex[], logIndex = 0, data: Hex = '0x'): ChainLog => ({
  address,
  topics,
  data,
  blockNumber: 7,
  blockHash: hashOf('77'),
  transactionHash: hashOf('88'),
  logIndex,
});
const transfer = (of: Address, from: Address, to: Address, logIndex = 0) =>
  log(of, [eventTopics.transfer, word(from), word(to)], logIndex);
const amounts = [5n, 300n, 2n].map((amount) => amount.toString(16).padStart(64, '0')).join('');
const fill = (by: Address, orderHash: Hex = hash, logIndex = 0, of = maker) =>
  log(by, [eventTopics.orderFilled, word(of), orderHash], logIndex, `${word(stranger)}${amounts}`);
const fillOf = (orderHash: Hex, logIndex: number, tokens: object = {}) => ({
  orderHash,
  taker: stranger,
  makingAmount: '0x5',
  takingAmount: '0x12c',
  remaining: '0x2',
  timestamp: 700,
  ...tokens,
  blockNumber: 7,
  transactionHash: hashOf('88'),
  logIndex,
});
/** The tokens of the maker's order. */
const ownTokens = { makingToken: token, takingToken: unsold };
const approval = (of: Address, owner: Address, spender: Address) =>
  log(of, [eventTopics.approval, word(owner), word(spender)]);

const known = accountOf('a4');
watched.know([maker, other, known]);
const touchedBy = (logs: readonly ChainLog[]) => matchLogs(logs, { watched, protocol, times: new Map([[7, 700]]) });
/** The values to read of each maker, without the causes. */
const namesIn = ({ makers }: ReturnType<typeof matchLogs>) => ({
  pairs: [...makers.values()].flatMap((each) => [...each.tokens].map((of) => [each.maker, of])),
  makers: [...makers.values()].filter(({ nonce }) => nonce).map((each) => each.maker),
  orders: [...makers.values()].flatMap((each) => [...each.orders].map((orderHash) => [each.maker, orderHash])),
});
const none = { orders: new Set(), wallets: new Map(), taking: new Map(), signaturesUnread: false };
const nobody = { pairs: [], makers: [], orders: [] };
const pair = [maker, token];
const otherPair = [other, token];
const causeAt = (logIndex: number) => ({ kind: 'log', transactionHash: hashOf('88'), logIndex });

describe('what a log touches', () => {
  test.each<[string, ChainLog, object]>([
    ['a Transfer between makers: both pairs', transfer(token, maker, other), { pairs: [pair, otherPair] }],
    ['a Transfer between others: nothing', transfer(token, stranger, protocol), {}],
    ['a Transfer of a token that the maker does not sell: nothing', transfer(second, other, stranger), {}],
    ['a Transfer of a token that nobody sells: nothing', transfer(unsold, maker, other), {}],
    ['an Approval for anybody else: nothing', approval(token, maker, stranger), {}],
    ['an Approval by somebody else: nothing', approval(token, stranger, protocol), {}],
    ['a Deposit: the pair', log(token, [eventTopics.deposit, word(maker)]), { pairs: [pair] }],
    ['a Withdrawal: the pair', log(token, [eventTopics.withdrawal, word(maker)]), { pairs: [pair] }],
    [
      'a fill: the order, its pair and its nonce',
      fill(protocol),
      { orders: [[maker, hash]], pairs: [pair], makers: [maker] },
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

  test('is read once each, with the first log that touched the maker as the cause', () => {
    const cancelAll = log(protocol, [eventTopics.allOrdersCancelled, word(maker)], 4);
    const logs = [transfer(token, maker, other, 1), fill(protocol, hash, 2), fill(protocol, hash, 3), cancelAll];
    const { makers } = touchedBy(logs);
    expect([...makers.values()]).toEqual([
      {
        maker,
        cause: causeAt(1),
        nonce: true,
        tokens: new Set([token]),
        ownTokens: new Set([token]),
        ...none,
        orders: new Set([hash]),
        taking: new Map([[hash, { address: unsold, orders: 3, hasCode: undefined, sweptAt: -1 }]]),
        fills: [fillOf(hash, 2, ownTokens), fillOf(hash, 3, ownTokens)],
      },
      {
        maker: other,
        cause: causeAt(1),
        nonce: false,
        tokens: new Set([token]),
        ownTokens: new Set([token]),
        ...none,
        fills: [],
      },
    ]);
  });

  test('includes every fill of a known maker, also of orders that are not open', () => {
    const unopened = hashOf('44');
    const logs = [
      fill(protocol, unopened, 1),
      fill(protocol, unopened, 2, known),
      fill(protocol, unopened, 3, stranger),
    ];
    const told = [...touchedBy(logs).makers.values()];
    expect(told.map((each) => [each.maker, each.fills])).toEqual([
      [maker, [fillOf(unopened, 1)]],
      [known, [fillOf(unopened, 2)]],
    ]);
    expect(namesIn(touchedBy(logs))).toEqual(nobody);
  });

  describe('the tokens of a fill', () => {
    const tokensOf = (logs: readonly ChainLog[]) =>
      [...touchedBy(logs).makers.values()].flatMap(({ fills }) =>
        fills.map(({ takingToken, makingToken }) => [takingToken, makingToken]),
      );
    const unopened = hashOf('44');
    const fake = accountOf('bb');

    test('are those that its transaction moves next, the taking token first', () => {
      const logs = [
        fill(protocol, unopened, 1),
        transfer(unsold, stranger, maker, 2),
        transfer(second, maker, stranger, 3),
        // The taker does this after the fill.
        transfer(fake, maker, stranger, 4),
        fill(protocol, unopened, 5),
        transfer(second, stranger, maker, 6),
        transfer(token, stranger, accountOf('cc'), 7),
        transfer(token, maker, stranger, 8),
      ];
      expect(tokensOf(logs)).toEqual([
        [unsold, second],
        [second, token],
      ]);
    });

    test('of an open order are those that the order names, whatever is logged', () => {
      const logs = [fill(protocol, hash, 1), transfer(fake, stranger, maker, 2), transfer(fake, maker, stranger, 3)];
      expect(tokensOf(logs)).toEqual([[unsold, token]]);
    });

    test('are found also if a maker fills its own order', () => {
      const own = { ...fill(protocol, unopened, 1), data: `${word(maker)}${amounts}` as Hex };
      expect(tokensOf([own, transfer(unsold, maker, maker, 2), transfer(second, maker, maker, 3)])).toEqual([
        [unsold, second],
      ]);
    });

    test('do not come from the logs of another transaction, or from after the next fill', () => {
      const elsewhere = { ...transfer(unsold, stranger, maker, 2), transactionHash: hashOf('99') };
      expect(tokensOf([fill(protocol, unopened, 1), elsewhere])).toEqual([[undefined, undefined]]);
      const logs = [fill(protocol, unopened, 1), fill(protocol, unopened, 2), transfer(unsold, stranger, maker, 3)];
      expect(tokensOf(logs)).toEqual([
        [undefined, undefined],
        [unsold, undefined],
      ]);
    });
  });
});

describe('a wallet', () => {
  const own = new WatchedSet();
  const of = { maker, makingToken: token, takingToken: unsold, expiresAtSeconds: 2 ** 31 };
  own.add({ ...of, orderHash: hash, walletSignature: '0x51' }, undefined);
  own.add({ ...of, orderHash: hashOfSecond, walletSignature: null }, undefined);
  const cause = { kind: 'read', occasion: 'SWEEP' } as const;
  const wallet = own.findMaker(maker);
  if (wallet === undefined) throw new Error('it is watched');

  test('with a log is not asked within the block, and the orders that depend on its answer are left out', () => {
    const touched = matchLogs([fill(protocol, hash), fill(protocol, hashOfSecond)], {
      watched: own,
      protocol,
      times: new Map(),
    });
    const toRead = touched.makers.get(maker);
    expect(toRead).toMatchObject({ orders: new Set([hash, hashOfSecond]), wallets: new Map([[hash, true]]) });
    touched.signatures(wallet, cause, 7, 0);
    touched.whole(wallet, cause, true);
    expect(toRead).toMatchObject({ orders: new Set([hashOfSecond]), wallets: new Map(), signaturesUnread: true });
    const later = matchLogs([fill(protocol, hash)], { watched: own, protocol, times: new Map() });
    expect(later.makers.get(maker)).toMatchObject({ nonce: true, tokens: new Set([token]), orders: new Set() });
    // The log may hold the order as accepted, and what the fill left of it is not read.
    expect([...later.unanswered]).toEqual([wallet]);
  });

  test('is asked again if everything is read at a later block', () => {
    const [asked] = own.wallets.takeUnasked(1);
    if (asked === undefined) throw new Error('it is to be asked');
    own.wallets.note(asked, true, 7, 0);
    const touched = matchLogs([transfer(token, maker, other)], { watched: own, protocol, times: new Map() });
    touched.widen(9, 0);
    expect(touched.makers.get(maker)).toMatchObject({ orders: new Set([hashOfSecond]), signaturesUnread: true });
    expect(wallet.walletChangedAt).toBe(9);
  });
});
