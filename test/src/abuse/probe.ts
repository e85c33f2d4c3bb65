import { setTimeout as pause } from 'node:timers/promises';
import { paths } from '@makerbook/contracts-http';
import type { Bench } from '../bench/open-bench.js';
import { type BenchRequest, openSender } from '../bench/send-requests.js';
import { type BenchMaker, bodyOf } from '../bench/sign-orders.js';

const PER_SECOND = 5;

/** Milliseconds from a request to the last byte of its answer; and what was not answered with 200. */
export interface Probed {
  readonly tookMs: { readonly POST: number[]; readonly GET: number[]; readonly DELETE: number[] };
  readonly failures: string[];
}

/** Another client: places an order, lists, and cancels it, five times a second, whether answers come or not. */
export async function probe(bench: Bench, maker: BenchMaker, ms: number): Promise<Probed> {
  const sender = openSender(Number(new URL(bench.stack.addresses.baseUrl).port));
  const probed: Probed = { tookMs: { POST: [], GET: [], DELETE: [] }, failures: [] };
  const send = async (request: BenchRequest) => {
    try {
      probed.tookMs[request.method].push(await sender.send(request));
    } catch (error) {
      probed.failures.push(error instanceof Error ? error.message.slice(0, 200) : String(error));
    }
  };
  const round = async () => {
    const placed = bench.signOrder(maker);
    const [list, cancel] = [bench.signList(maker), bench.signCancel(maker, placed)];
    await send({ method: 'POST', path: paths.limitOrders, body: bodyOf([placed]) });
    await send(list);
    await send(cancel);
  };
  const rounds: Promise<void>[] = [];
  const until = performance.now() + ms;
  while (performance.now() < until) {
    rounds.push(round());
    await pause(1000 / PER_SECOND);
  }
  await Promise.all(rounds);
  sender.close();
  return probed;
}
