import { describe, expect, test } from '@jest/globals';
import type { MakerEvent } from '@makerbook/contracts-events';
import { type Hex, quantity } from '@makerbook/contracts-primitives';
import fc from 'fast-check';
import { noExits } from './exits.js';
import { factOfInstruction, factsBeyond } from './facts-beyond.js';
import { type Maker, snapshotOf, unknownMaker } from './maker.js';
import { type Fold, foldFacts, startFold } from './testing/fold-facts.js';
import { orderSubmitted } from './testing/order-submitted.js';

const maker: Hex = `0x${'a1'.repeat(20)}`;
const tokens: Hex[] = ['b2', 'c3', 'd4'].map((byte): Hex => `0x${byte.repeat(20)}`);
const keys: Hex[] = ['e5', 'f6'].map((byte): Hex => `0x${byte.repeat(20)}`);
const hashes: Hex[] = ['11', '22', '33', '44'].map((byte): Hex => `0x${byte.repeat(32)}`);
const cause = { kind: 'operator', commandId: 'c' } as const;
const FAR = 4_000_000_000;

const own = { maker: fc.constant(maker), cause: fc.constant(cause) };
const issuedAtMs = fc.integer({ min: 1, max: 40 });
const orderHash = fc.constantFrom(...hashes);
const token = fc.constantFrom(...tokens);
/** A fact by a maker or an operator. The chain repeats its own facts. */
const event: fc.Arbitrary<MakerEvent> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .record({ orderHash, acceptedAtMs: fc.nat(50) })
      .map((terms) => orderSubmitted({ ...terms, making: tokens[0] as Hex, maker, expiresAt: FAR })),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('OrderCancelled' as const),
      ...own,
      orderHash,
      expiresAtSeconds: fc.constant(FAR),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('OrdersCancelled' as const), ...own, untilMs: fc.nat(50) }),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({
        ...own,
        cancelAt: fc.constantFrom(0, FAR, FAR + 1),
        issuedAtMs,
        key: fc.constantFrom(undefined, ...keys),
      })
      .map(({ key, ...fact }) => ({ type: 'SwitchSet' as const, ...fact, ...(key && { key }) })),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('CancelKeysSet' as const),
      ...own,
      keys: fc.subarray(keys),
      listKeys: fc.subarray(keys, { minLength: 1 }),
      issuedAtMs,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('FillCapSet' as const),
      ...own,
      token,
      amount: fc.nat(2).map((amount) => quantity(BigInt(amount))),
      windowSeconds: fc.constantFrom(0, 60),
      issuedAtMs,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constantFrom('MakerAdmitted' as const, 'MakerSuspended' as const, 'MakerRemoved' as const),
      ...own,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('MakerLimitsSet' as const),
      ...own,
      limits: fc.record({ openOrdersMax: fc.integer({ min: 1, max: 3 }) }),
    }),
  },
);

function foldOf(events: readonly MakerEvent[]): Fold {
  const fold = startFold(unknownMaker(maker));
  foldFacts(fold, events);
  return fold;
}

/** The parts that must be the same afterwards: no offsets, and nothing that cutoffs have done already. */
function essence({ limits, exits, orders }: Maker) {
  const { cancelAt, switchKey, cancelKeys, readKeys, keysIssuedAtMs, caps } = exits;
  const open = [...orders.values()].map(({ orderHash, signature, acceptedAtMs }) => [
    orderHash,
    signature,
    acceptedAtMs,
  ]);
  const capped = caps.map(({ token, amount, windowSeconds, issuedAtMs }) => [token, amount, windowSeconds, issuedAtMs]);
  return { limits, cancelAt, switchKey, cancelKeys, readKeys, keysIssuedAtMs, caps: capped.sort(), open: open.sort() };
}

describe('facts beyond a restored log', () => {
  test('lead from any earlier point to the state of the rows', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 30 }), fc.nat(30), (events, at) => {
        const [kept, restored] = [foldOf(events), foldOf(events.slice(0, at))];
        const before = snapshotOf(restored.draft);
        const facts = factsBeyond(snapshotOf(kept.draft), before, true, cause);
        const gone = hashes.filter((orderHash) => !kept.draft.orders.has(orderHash) && before.orders.has(orderHash));
        const cancels = gone.map((orderHash) => {
          return { type: 'OrderCancelled' as const, maker, orderHash, expiresAtSeconds: FAR, cause };
        });
        foldFacts(restored, [...facts, ...cancels]);
        expect(essence(restored.draft)).toEqual(essence(kept.draft));
        // Nothing is repeated except an operator's decision, which may be.
        const again = factsBeyond(snapshotOf(kept.draft), snapshotOf(restored.draft), true, cause);
        const isDecision = ({ type }: MakerEvent) => type === 'MakerSuspended' || type === 'MakerRemoved';
        expect(again.filter((fact) => !isDecision(fact))).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });

  test('keep a switch whose key was revoked since', () => {
    const [key] = keys as [Hex];
    const keysSet = (named: Hex[], issuedAtMs: number): MakerEvent => {
      return { type: 'CancelKeysSet', maker, keys: named, issuedAtMs, cause };
    };
    const before = [keysSet([key], 1)];
    const beat: MakerEvent = { type: 'SwitchSet', maker, cancelAt: FAR, issuedAtMs: 2, key, cause };
    const kept = snapshotOf(foldOf([...before, beat, keysSet([], 3)]).draft);
    const restored = foldOf(before);
    foldFacts(restored, factsBeyond(kept, snapshotOf(restored.draft), true, cause));
    expect(restored.draft.exits).toMatchObject({ cancelAt: FAR, switchKey: null, cancelKeys: [] });
  });

  test('keep a maker’s switch that is no newer than one by a key that was revoked since', () => {
    const [key] = keys as [Hex];
    const keysSet = (named: Hex[], issuedAtMs: number): MakerEvent => {
      return { type: 'CancelKeysSet', maker, keys: named, issuedAtMs, cause };
    };
    const switchSet = (cancelAt: number, by?: Hex): MakerEvent => {
      return { type: 'SwitchSet', maker, cancelAt, issuedAtMs: 1, ...(by && { key: by }), cause };
    };
    const before = [keysSet([key], 1), switchSet(0, key)];
    const kept = snapshotOf(foldOf([...before, keysSet([], 2), switchSet(FAR)]).draft);
    const restored = foldOf(before);
    foldFacts(restored, factsBeyond(kept, snapshotOf(restored.draft), true, cause));
    expect(restored.draft.exits).toMatchObject({ cancelAt: FAR, switchIssuedAtMs: 1, switchKey: null });
  });

  test('undo no decision if the rows are too old to know it', () => {
    const kept: Maker = { ...unknownMaker(maker), admission: 'SUSPENDED', limits: { openOrdersMax: 1 } };
    const restored: Maker = { ...unknownMaker(maker), admission: 'ADMITTED' };
    expect(factsBeyond(kept, restored, false, cause)).toEqual([]);
    expect(factsBeyond(kept, restored, true, cause)).toHaveLength(2);
  });

  test('are made from instructions that were on their way', () => {
    const [key] = keys as [Hex];
    const all = [
      { subject: 'keys', issuedAtMs: 1, terms: { keys: [key] } },
      { subject: 'switch', issuedAtMs: 2, terms: { cancelAt: FAR }, key },
      { subject: `cap:${tokens[0]}`, issuedAtMs: 3, terms: { amount: '0x5', windowSeconds: 60 } },
    ];
    const fold = foldOf(all.map((instruction) => factOfInstruction(maker, instruction, cause)));
    const { caps, ...exits } = fold.draft.exits;
    const set = { cancelKeys: [key], keysIssuedAtMs: 1, cancelAt: FAR, switchIssuedAtMs: 2, switchKey: key };
    const { caps: _, ...none } = noExits;
    expect(exits).toEqual({ ...none, ...set });
    expect(caps).toEqual([expect.objectContaining({ token: tokens[0], amount: '0x5', windowSeconds: 60 })]);
  });
});
