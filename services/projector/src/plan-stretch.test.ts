import { describe, expect, test } from '@jest/globals';
import type { MakerEvent } from '@makerbook/contracts-events';
import type { DueMaker } from '@makerbook/postgres';
import { type Concerned, planStretch } from './plan-stretch.js';
import { type LoggedFact, readFact } from './read-facts.js';
import { makersOf, storedRecord } from './testing/generate-facts.js';

const [first, second, third] = makersOf(0, 1, 3) as [DueMaker['maker'], DueMaker['maker'], DueMaker['maker']];
const blockAt = (timestamp: number, knownOffset?: number): MakerEvent => ({
  type: 'BlockProcessed',
  block: { number: timestamp, hash: `0x${'0'.repeat(64)}`, timestamp },
  ...(knownOffset === undefined ? {} : { knownOffset: String(knownOffset) }),
});
const admitted: MakerEvent = { type: 'MakerAdmitted', maker: first, cause: { kind: 'operator', commandId: 'c' } };
const logged = (facts: MakerEvent[], from = 0): LoggedFact[] =>
  facts.map((fact, index) => readFact(storedRecord(fact, { partition: 0, offset: BigInt(from + index) }), 1));
const fresh = { clockSeconds: 0, blockNumber: undefined, newestOffset: -1n, nextDueSeconds: 0, slices: 0 };

/** Makers by address with the second at which they are due. */
function findDue(...makers: (DueMaker & { at: number })[]) {
  const asked: [number, number][] = [];
  const find = async ({ clockSeconds = -1 }: Concerned, makersMax: number) => {
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

describe('a plan for blocks whose watcher did not know all orders', () => {
  /** Nothing is due, the newest order stands at offset 40, and the facts begin at 50. */
  const start = { ...fresh, blockNumber: 7, newestOffset: 40n, nextDueSeconds: 1_000 };

  async function plan(facts: MakerEvent[], found: readonly DueMaker[] = [], ordersMax = 10, from = start) {
    const asked: [Concerned, number][] = [];
    const planned = await planStretch(logged(facts, 50), from, ordersMax, async (concerned, makersMax) => {
      asked.push([concerned, makersMax]);
      return found;
    });
    return { asked, planned };
  }

  test('asks for the makers of those that were folded, and counts them with their orders', async () => {
    const { asked, planned } = await plan([blockAt(8, 40), admitted], [{ maker: first, openOrders: 6 }]);
    expect(asked).toEqual([[{ clockSeconds: undefined, missed: { knownOffset: 40n, blockNumber: 8 } }, 11]]);
    expect(planned).toEqual({ count: 2, due: [{ maker: first, openOrders: 6 }], isWhole: true });
  });

  test('asks for none where no order was accepted that late, or nothing was missed', async () => {
    const beyond = String(2n ** 64n);
    const blocks = [blockAt(8, 41), blockAt(9), blockAt(10, 53), { ...blockAt(11), knownOffset: beyond } as MakerEvent];
    expect((await plan(blocks)).asked).toEqual([]);
  });

  test('asks for none where the block is not the first one of its number', async () => {
    expect((await plan([blockAt(7, 0), blockAt(8), blockAt(8, 0), blockAt(6, 0)])).asked).toEqual([]);
  });

  test('asks once for all blocks, and for what is due with it', async () => {
    const { asked } = await plan([blockAt(8, 30), blockAt(9, 20), blockAt(10, 35), blockAt(1_001)]);
    expect(asked).toEqual([[{ clockSeconds: 1_001, missed: { knownOffset: 20n, blockNumber: 10 } }, 11]]);
  });

  test('slices a block by them', async () => {
    const makers = [first, second, third].map((maker) => ({ maker, openOrders: 4 }));
    const { asked, planned } = await plan([blockAt(8, 30), admitted, blockAt(9, 20)], makers);
    expect(planned).toEqual({ count: 1, due: makers.slice(0, 2), isWhole: false });
    // With the one block alone, exactly what that one has missed.
    expect(asked.at(-1)?.[0]).toEqual({ clockSeconds: undefined, missed: { knownOffset: 30n, blockNumber: 8 } });
    const rest = await plan([blockAt(8, 30), admitted, blockAt(9, 20)], makers.slice(2), 10, { ...start, slices: 1 });
    expect(rest.planned).toEqual({ count: 1, due: makers.slice(2), isWhole: true });
  });
});
