import { describe, expect, test } from '@jest/globals';
import type { MakerEvent, OrdersCancelled, ReadKeys } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { makerViewOf } from './describe.js';
import { addCutoff, noExits } from './exits.js';
import { unknownMaker } from './maker.js';
import { foldFacts, startFold } from './testing/fold-facts.js';
import { orderSubmitted } from './testing/order-submitted.js';

const addressOf = (byte: string): Address => `0x${byte.repeat(20)}`;
const maker = addressOf('a1');
const [usd, eur, won] = [addressOf('b2'), addressOf('c3'), addressOf('d4')];
const cause = { kind: 'request', requestId: 'r' } as const;
/** When the test starts, in seconds since 1970. */
const START = 1_700_000_000;
const ms = (seconds: number) => (START + seconds) * 1000;

/** An order that was accepted then. Its hash is its number. */
function submitted(number: number, acceptedIn: number, making = usd, taking = eur): MakerEvent {
  const times = { expiresAt: START + 1_000, acceptedAtMs: ms(acceptedIn) };
  return orderSubmitted({ orderHash: hashOf(number), maker, making, taking, ...times });
}

const hashOf = (number: number): Hex => `0x${number.toString(16).padStart(64, '0')}`;
const cancelled = (untilIn: number, tokens: Pick<OrdersCancelled, 'making' | 'taking'> = {}): MakerEvent => {
  return { type: 'OrdersCancelled', maker, ...tokens, untilMs: ms(untilIn), cause };
};
const beat = (cancelIn: number | undefined, issuedIn: number): MakerEvent => {
  const cancelAt = cancelIn === undefined ? 0 : START + cancelIn;
  return { type: 'SwitchSet', maker, cancelAt, issuedAtMs: ms(issuedIn), cause };
};
const mined = (seconds: number): MakerEvent => {
  const block = { number: seconds + 1, hash: hashOf(seconds), timestamp: START + seconds };
  return { type: 'BlockProcessed', block };
};

/** Folds facts, and returns the numbers of the orders that are open afterwards. */
function openAfter(...facts: readonly MakerEvent[]): number[] {
  const fold = startFold(unknownMaker(maker));
  foldFacts(fold, facts);
  return [...fold.draft.orders.keys()].map(Number);
}

describe('a maker who cancels all', () => {
  test('takes back orders of the tokens that it names', () => {
    const orders = [submitted(1, 1), submitted(2, 1, usd, won), submitted(3, 1, won, eur)];
    expect(openAfter(...orders, cancelled(2, { making: usd }))).toEqual([3]);
    expect(openAfter(...orders, cancelled(2, { taking: eur }))).toEqual([2]);
    expect(openAfter(...orders, cancelled(2, { making: usd, taking: eur }))).toEqual([2, 3]);
  });

  test('takes back the orders accepted by the named time, to the millisecond', () => {
    expect(openAfter(submitted(1, 2), submitted(2, 2.001), cancelled(2))).toEqual([2]);
  });

  test('is remembered for minutes, once for each pair of tokens', () => {
    const at = (seconds: number) => ({ seconds: START + seconds });
    const first = addCutoff(noExits, { untilMs: ms(1) }, at(1));
    const second = addCutoff(first, { making: usd, untilMs: ms(60) }, at(60));
    expect(second.cutoffs).toEqual([{ untilMs: ms(1) }, { making: usd, untilMs: ms(60) }]);
    expect(addCutoff(second, { untilMs: ms(0) }, at(60))).toBe(second);
    expect(addCutoff(second, { making: usd, untilMs: ms(130) }, at(130)).cutoffs).toEqual([
      { making: usd, untilMs: ms(130) },
    ]);
  });
});

describe("a maker's switch", () => {
  test('cancels all orders accepted by its time, once the clock gets there', () => {
    const orders = [submitted(1, 1), submitted(2, 10), submitted(3, 11)];
    expect(openAfter(beat(10, 0), ...orders, mined(9))).toEqual([1, 2, 3]);
    expect(openAfter(beat(10, 0), ...orders, mined(10))).toEqual([3]);
    expect(openAfter(...orders, mined(1), beat(10, 0), mined(12))).toEqual([3]);
  });

  test('that has fired also cancels orders that come late, even after a newer switch', () => {
    const fired = [beat(10, 0), mined(10)];
    expect(openAfter(...fired, submitted(1, 9), submitted(2, 11))).toEqual([2]);
    expect(openAfter(...fired, beat(30, 11), submitted(1, 9), submitted(2, 11), mined(29))).toEqual([2]);
    expect(openAfter(...fired, beat(30, 11), submitted(2, 11), mined(30))).toEqual([]);
  });
});

describe('a key that may cancel', () => {
  const keys = (named: readonly Address[], issuedIn: number): MakerEvent => {
    return { type: 'CancelKeysSet', maker, keys: [...named], issuedAtMs: ms(issuedIn), cause };
  };
  const beatBy = (key: Address, cancelIn: number | undefined, issuedIn: number) => ({
    ...beat(cancelIn, issuedIn),
    key,
  });
  const orders = [submitted(1, 1)];

  test('moves the switch while it is named, not before and not after', () => {
    expect(openAfter(beatBy(usd, 10, 0), ...orders, mined(10))).toEqual([1]);
    expect(openAfter(keys([usd], 0), beatBy(usd, 10, 1), ...orders, mined(10))).toEqual([]);
    expect(openAfter(keys([usd], 0), keys([eur], 1), beatBy(usd, 10, 2), ...orders, mined(10))).toEqual([1]);
  });

  test('that is revoked leaves the switch as it is, and the next heartbeat counts, whatever its time', () => {
    const byKey = [keys([usd, eur], 0), beatBy(usd, 10, 60)];
    expect(openAfter(...byKey, beat(undefined, 2), ...orders, mined(10))).toEqual([]);
    expect(openAfter(...byKey, keys([eur], 1), ...orders, mined(10))).toEqual([]);
    expect(openAfter(...byKey, keys([eur], 1), beat(undefined, 2), ...orders, mined(10))).toEqual([1]);
    expect(openAfter(...byKey, keys([eur], 1), beatBy(eur, undefined, 2), ...orders, mined(10))).toEqual([1]);
    // The key that set the switch stays, so its time counts.
    expect(openAfter(...byKey, keys([usd], 1), beat(undefined, 2), ...orders, mined(10))).toEqual([]);
  });
});

test('followers of the makers see the newest keys that may cancel', () => {
  const keys = (named: readonly Address[], issuedIn: number, readers: ReadKeys = {}): MakerEvent => {
    return { type: 'CancelKeysSet', maker, keys: [...named], ...readers, issuedAtMs: ms(issuedIn), cause };
  };
  const fold = startFold(unknownMaker(maker));
  const shown = (fact: MakerEvent) =>
    foldFacts(fold, [fact]).map((each) => (each.kind === 'MakerChanged' ? each.exits.cancelKeys : each.kind));
  expect(shown(keys([usd], 2))).toEqual([[usd]]);
  expect(shown(keys([eur], 1))).toEqual([]);
  expect(shown(keys([usd], 3))).toEqual([]);
  expect(shown(beat(9, 3))).toEqual([]);
  expect(shown(keys([usd], 4, { listKeys: [eur] }))).toEqual([[usd]]);
  expect(makerViewOf(fold.draft, { partition: 0, offset: '0' })).toMatchObject({ cancelKeys: [usd], listKeys: [eur] });
  expect(shown(keys([], 5))).toEqual([[]]);
  expect(makerViewOf(fold.draft, { partition: 0, offset: '0' })).not.toHaveProperty('listKeys');
});
