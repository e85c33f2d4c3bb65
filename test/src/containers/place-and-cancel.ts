import { setTimeout as pause } from 'node:timers/promises';
import { MakerbookError, type SignedOrder } from '@makerbook/client';
import type { TestMaker } from '../end-to-end/open-maker.js';

/** How many orders of a maker stay open: then the oldest is cancelled for each new one. */
const OPEN_ORDERS = 20;
const PAUSE_MS = 250;

export interface OrderLoad {
  /** Requests that were answered with 200 until now. */
  answered(): number;
  /** What went wrong until now, each with its second since the start. */
  failures(): readonly string[];
  /** Ends the load once what is under way has been answered. @returns the last acknowledged state of each order */
  stop(): Promise<ReadonlyMap<string, 'placed' | 'cancelled'>>;
}

/** Each maker places an order, lists, and cancels its oldest one, over and over: one try each, no repetition. */
export function placeAndCancel(makers: readonly TestMaker[], expiresAt: number): OrderLoad {
  const startMs = performance.now();
  const acknowledged = new Map<string, 'placed' | 'cancelled'>();
  const failures: string[] = [];
  let answered = 0;
  let goOn = true;
  const note = (what: string) => failures.push(`${((performance.now() - startMs) / 1000).toFixed(1)} s: ${what}`);
  const ask = async <T>(name: string, call: Promise<T>): Promise<T | undefined> => {
    try {
      const answer = await call;
      answered += 1;
      return answer;
    } catch (error) {
      if (!(error instanceof MakerbookError)) throw error;
      note(`${name} ${error.status} ${error.code}: ${error.message}`);
      return undefined;
    }
  };

  async function drive(maker: TestMaker): Promise<void> {
    const open: SignedOrder[] = [];
    for (; goOn; await pause(PAUSE_MS)) {
      const order = await maker.sign({ expiresAt, amount: 1n });
      if ((await ask('POST', maker.client.placeOrders([order]))) !== undefined) {
        acknowledged.set(order.orderHash, 'placed');
        open.push(order);
      }
      const list = await ask('GET', maker.client.listOrders());
      if (list?.readLag === 0) {
        const listed = new Set(list.records.map(({ orderHash }) => orderHash));
        const missing = open.filter(({ orderHash }) => !listed.has(orderHash)).length;
        if (missing > 0) note(`GET misses ${missing} of ${open.length} acknowledged orders`);
      }
      const [oldest] = open;
      if (oldest === undefined || open.length <= OPEN_ORDERS) continue;
      open.shift();
      const { orderHash, order: terms } = oldest;
      const [cancellation] = (await ask('DELETE', maker.client.cancelOrders([{ orderHash, salt: terms.salt }]))) ?? [];
      if (cancellation?.status === 'CANCELLED') acknowledged.set(orderHash, 'cancelled');
      else {
        // Whether it was cancelled is not known.
        acknowledged.delete(orderHash);
        if (cancellation !== undefined) note(`DELETE of an acknowledged order: ${cancellation.status}`);
      }
    }
  }
  const work = Promise.all(makers.map(drive));
  // It is awaited below; until then a failure of it must not end the process.
  work.catch(() => undefined);
  return {
    answered: () => answered,
    failures: () => failures,
    async stop() {
      goOn = false;
      await work;
      return acknowledged;
    },
  };
}
