import { describe, expect, test } from '@jest/globals';
import type { MakerEvent } from '@makerbook/contracts-events';
import type { DueMaker } from '@makerbook/postgres';
import { planStretch } from './plan-stretch.js';
import { type LoggedFact, readFact } from './read-facts.js';
import { makersOf, storedRecord } from './testing/generate-facts.js';

const [first, second, third] = makersOf(0, 1, 3) as [DueMaker['maker'], DueMaker['maker'], DueMaker['maker']];
const blockAt = (timestamp: number): MakerEvent => ({
  type: 'BlockProcessed',
  block: { number: timestamp, hash: `0x${'0'.repeat(64)}`, timestamp },
});
const admitted: MakerEvent = { type: 'MakerAdmitted', maker: first, cause: { kind: 'operator', commandId: 'c' } };
const logged = (facts: MakerEvent[]): LoggedFact[] =>
  facts.map((fact, offset) => readFact(storedRecord(fact, { partition: 0, offset: BigInt(offset) }), 1));
const fresh = { clockSeconds: 0, nextDueSeconds: 0, slices: 0 };

/** Makers by address with the second at which they are due. */
function findDue(...makers: (DueMaker & { at: number })[]) {
  const asked: [number, number][] = [];
  const find = async (clockSeconds: number, makersMax: number) => {
    asked.push([clockSeconds, makersMax]);
    return makers.flatMap(({ at, ...due }) => (at <= clockSeconds ? due : [])).slice(0, makersMax);
  };
  return { asked, find };
}

describe('a plan', () => {
  test('takes all facts where the orders that are due fit into one commit', async () => {
    const due = findDue({ maker: first, openOrders: 6, at: 5 }, { maker: second, openOrders: 4, at: 6 });
    expect(await planStretch(logged([admitted, blockAt(5), blockAt(6)]), fresh, 10, due.find)).toEqual({
      count: 3,
      due: [
        { maker: first, openOrders: 6 },
        { maker: second, openOrders: 4 },
      ],
      isWhole: true,
    });
    expect(due.asked).toEqual([[6, 11]]);
  });

  test('asks for nobody who is due without a block, or before the clock gets there', async () => {
    const due = findDue({ maker: first, openOrders: 99, at: 0 });
    expect(await planStretch(logged([admitted, admitted]), fresh, 10, due.find)).toMatchObject({ count: 2, due: [] });
    const later = { ...fresh, nextDueSeconds: 7 };
    expect(await planStretch(logged([blockAt(6)]), later, 10, due.find)).toMatchObject({ due: [], isWhole: true });
    expect(await planStretch([], { ...fresh, slices: 1 }, 10, due.find)).toMatchObject({ count: 0, isWhole: true });
    expect(due.asked).toEqual([]);
  });

  test('takes fewer facts where a later block makes too much due', async () => {
    const due = findDue({ maker: first, openOrders: 6, at: 5 }, { maker: second, openOrders: 6, at: 8 });
    const facts = logged([blockAt(5), admitted, blockAt(8), admitted]);
    expect(await planStretch(facts, fresh, 10, due.find)).toEqual({
      count: 2,
      due: [{ maker: first, openOrders: 6 }],
      isWhole: true,
    });
  });

  test('slices a single block by its makers, each with all its orders, and at least one maker', async () => {
    const due = findDue(
      { maker: first, openOrders: 12, at: 5 },
      { maker: second, openOrders: 6, at: 5 },
      { maker: third, openOrders: 4, at: 5 },
    );
    const facts = logged([blockAt(5), admitted, blockAt(6)]);
    const slice = { count: 1, due: [{ maker: first, openOrders: 12 }], isWhole: false };
    expect(await planStretch(facts, fresh, 10, due.find)).toEqual(slice);
    const rest = findDue({ maker: second, openOrders: 6, at: 5 }, { maker: third, openOrders: 4, at: 5 });
    expect(await planStretch(facts, { ...fresh, slices: 1 }, 10, rest.find)).toMatchObject({ count: 1, isWhole: true });
    // The facts behind a block that was begun wait for its last slice.
    expect(rest.asked).toEqual([[5, 11]]);
  });

  test('counts a maker of whom the read model counts no order, so that makers are bounded too', async () => {
    const due = findDue(...[first, second, third].map((maker) => ({ maker, openOrders: 0, at: 5 })));
    expect(await planStretch(logged([blockAt(5)]), fresh, 2, due.find)).toMatchObject({
      due: [{ maker: first }, { maker: second }],
      isWhole: false,
    });
  });
});
