import { expect, test } from '@jest/globals';
import type { MakerEvent } from '@makerbook/contracts-events';
import { type Address, type Hex, quantity } from '@makerbook/contracts-primitives';
import { FILL_CAPS_MAX, type FillCap, setFillCap } from './fill-caps.js';
import { unknownMaker } from './maker.js';
import { foldFacts, startFold } from './testing/fold-facts.js';
import { orderSubmitted } from './testing/order-submitted.js';

const addressOf = (byte: string): Address => `0x${byte.repeat(20)}`;
const maker = addressOf('a1');
const [usd, eur] = [addressOf('b2'), addressOf('c3')];
const cause = { kind: 'request', requestId: 'r' } as const;
const START = 1_700_000_000;
const hashOf = (number: number): Hex => `0x${number.toString(16).padStart(64, '0')}`;
const blockAt = (seconds: number) => ({ number: seconds, hash: hashOf(seconds), timestamp: START + seconds });

/** An order of 100. Its hash is its number. */
function submitted(number: number, making = usd): MakerEvent {
  const times = { expiresAt: START + 10_000, acceptedAtMs: START * 1000 };
  return orderSubmitted({ orderHash: hashOf(number), maker, making, ...times });
}

/** What is filled in all of some orders, as it is read at a block. */
function read(seconds: number, filled: Readonly<Record<number, bigint>>, tokens = [usd]): MakerEvent {
  return {
    type: 'MakerObserved',
    maker,
    block: blockAt(seconds),
    cause: { kind: 'read', occasion: 'ORDER' },
    nonce: '0x0',
    funds: tokens.map((token) => ({ token, balance: '0xffff', allowance: '0xffff' })),
    orders: Object.entries(filled).map(([number, amount]) => {
      return { orderHash: hashOf(Number(number)), filled: quantity(amount), cancelled: false };
    }),
  };
}

const mined = (seconds: number): MakerEvent => ({ type: 'BlockProcessed', block: blockAt(seconds) });
const capped = (amount: bigint, windowSeconds: number, issuedIn = 0, token = usd): MakerEvent => {
  const terms = { token, amount: quantity(amount), windowSeconds, issuedAtMs: (START + issuedIn) * 1000 };
  return { type: 'FillCapSet', maker, ...terms, cause };
};

/** Orders 1 and 2 of one token, and 3 of another, which were read. */
const orders = [submitted(1), submitted(2), submitted(3, eur), read(1, { 1: 0n, 2: 0n, 3: 0n }, [usd, eur]), mined(1)];

test('a cap that is exceeded while the maker is in quarantine withholds its orders when it is released', () => {
  const fold = startFold(unknownMaker(maker));
  const book = () =>
    [...fold.draft.orders.values()].flatMap(({ inBook, orderHash }) => (inBook ? Number(orderHash) : []));
  foldFacts(fold, [...orders, capped(50n, 10)]);
  fold.draft.quarantine(fold.nextOffset);
  foldFacts(fold, [read(2, { 1: 60n }), mined(2)]);
  expect(book()).toEqual([]);
  fold.draft.release({ offset: fold.nextOffset, clock: fold.clock });
  expect(book()).toEqual([3]);
  foldFacts(fold, [mined(12)]);
  expect(book()).toEqual([1, 2, 3]);
});

test('a removed cap is remembered until no older one can come, and a maker has so many', () => {
  const at = (seconds: number) => ({ seconds: START + seconds });
  const set = (caps: readonly FillCap[], fact: MakerEvent, seconds: number) =>
    fact.type === 'FillCapSet' ? setFillCap(caps, fact, at(seconds)) : caps;
  const tokensOf = (caps: readonly FillCap[]) => caps.map(({ token }) => token);
  const removed = set([], capped(0n, 0, 0), 0);
  expect(tokensOf(set(removed, capped(1n, 9, 600, eur), 600))).toEqual([usd, eur]);
  expect(tokensOf(set(removed, capped(1n, 9, 601, eur), 601))).toEqual([eur]);
  let many: readonly FillCap[] = [];
  const tokens = Array.from({ length: FILL_CAPS_MAX + 1 }, (_, n): Address => `0x${String(n).padStart(40, '0')}`);
  for (const token of tokens) many = set(many, capped(1n, 9, 0, token), 0);
  expect(tokensOf(many)).toEqual(tokens.slice(1));
});
