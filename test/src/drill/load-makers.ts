import type { SignedOrder } from '@makerbook/client';
import type { Chance } from '@makerbook/parts';
import { eventually } from '../kit/eventually.js';
import type { TestChain, TestMaker } from '../kit/open-maker.js';

/** An order that was answered with 200. */
export interface Acknowledged {
  readonly maker: TestMaker;
  readonly order: SignedOrder;
  /** When its answer came, by the machine's clock. */
  readonly atMs: number;
  /** How far its maker got with cancelling it. */
  cancellation?: 'asked' | 'answered';
}

/**
 * Has each maker place one order after another, good for an hour. `stop` ends this and returns the acknowledged orders.
 * @param chance draws when a maker cancels one of its orders, and which; without it none is cancelled
 */
export async function loadMakers(makers: readonly TestMaker[], chain: TestChain, chance?: Chance) {
  const expiresAt = (await chain.nowSeconds()) + 3600;
  const acknowledged: Acknowledged[] = [];
  let isOver = false;
  const placing = makers.map(async (maker) => {
    const own: Acknowledged[] = [];
    while (!isOver) {
      const [order] = await maker.place({ expiresAt, amount: 1n });
      if (order === undefined) continue;
      const placed = { maker, order, atMs: Date.now() };
      acknowledged.push(placed);
      own.push(placed);
      if (chance === undefined || chance.below(3) > 0) continue;
      const one = own[chance.below(own.length)] as Acknowledged;
      one.cancellation ??= 'asked';
      const [{ status } = { status: '' }] = await maker.client.cancelOrders([one.order]);
      if (status === 'CANCELLED') one.cancellation = 'answered';
    }
  });
  const ended = Promise.all(placing);
  // `stop` awaits it.
  ended.catch(() => undefined);
  return {
    acknowledged,
    async stop(): Promise<readonly Acknowledged[]> {
      isOver = true;
      await ended;
      return acknowledged;
    },
  };
}

/** Reads the status of each order in its maker's list; `gone` for an order that is not in it. */
export async function readStatuses(orders: readonly Acknowledged[]): Promise<Map<Acknowledged, string>> {
  const statuses = new Map<Acknowledged, string>();
  for (const [maker, own] of Map.groupBy(orders, (acknowledged) => acknowledged.maker)) {
    const listed = await maker.statuses(...own.map(({ order }) => order));
    for (const [index, one] of own.entries()) statuses.set(one, listed[index] ?? 'gone');
  }
  return statuses;
}

/** Finds the orders that their makers' lists do not show as ACTIVE. */
export async function findMissing(orders: readonly Acknowledged[]): Promise<Acknowledged[]> {
  return [...(await readStatuses(orders))].flatMap(([one, status]) => (status === 'ACTIVE' ? [] : [one]));
}

/** Waits until all are listed as ACTIVE. */
export const awaitAll = (orders: readonly Acknowledged[]): Promise<void> =>
  eventually(async () => (await findMissing(orders)).length, 0, 300_000);
