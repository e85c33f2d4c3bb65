import { setTimeout as pause } from 'node:timers/promises';
import type { Sender } from '../kit/send-requests.js';
import { type MakerKey, type OrderToPost, postOf } from '../kit/sign-orders.js';
import { type Steps, wallMs } from './follow-steps.js';
import type { Bench } from './open-bench.js';

export interface SampleParts {
  readonly bench: Bench;
  readonly steps: Steps;
  readonly sender: Sender;
}

/** Takes tokens away from makers, and gives them back. */
const FRIEND = '0x00000000000000000000000000000000000f41e0';

/**
 * Milliseconds from sending a POST of one order until the feed says ACTIVE, and until the projector published that, by its own
 * stamp.
 */
export async function samplePost(
  { bench, steps, sender }: SampleParts,
  maker: MakerKey,
  order = bench.signOrder(maker),
): Promise<{ readonly totalMs: number; readonly publishedMs: number }> {
  const post = postOf([order]);
  const coming = steps.next(`ACTIVE/${order.orderHash}`);
  const sentAtMs = wallMs();
  const [active] = await Promise.all([coming, sender.send(post)]);
  return { totalMs: active.readAtMs - sentAtMs, publishedMs: active.writtenAtMs - sentAtMs };
}

/** Milliseconds from sending the DELETE of an order that has been ACTIVE for a moment until its tombstone is read. */
export async function sampleCancel(parts: SampleParts, maker: MakerKey): Promise<number> {
  const { bench, steps, sender } = parts;
  const order = bench.signOrder(maker);
  await samplePost(parts, maker, order);
  await pause(50 + Math.random() * 100);
  const coming = steps.next(`GONE/${order.orderHash}`);
  const request = bench.signCancel(maker, order);
  const sentAtMs = wallMs();
  const [gone] = await Promise.all([coming, sender.send(request)]);
  return gone.readAtMs - sentAtMs;
}

/** Makers who hold exactly what each of their orders sells: a transfer of one unit decides whether all of them can be filled. */
export interface Flip {
  readonly makers: readonly { readonly maker: MakerKey; readonly orders: readonly OrderToPost[] }[];
  isActive: boolean;
}

/** @param ordersEach of each maker, in one POST */
export async function openFlip(parts: SampleParts, makers: readonly MakerKey[], ordersEach: number): Promise<Flip> {
  const { bench, steps, sender } = parts;
  await bench.chain.giveGas(FRIEND);
  const opened: Flip['makers'][number][] = [];
  for (const maker of makers) {
    const orders = Array.from({ length: ordersEach }, () => bench.signOrder(maker));
    const areActive = Promise.all(orders.map(({ orderHash }) => steps.next(`ACTIVE/${orderHash}`)));
    await sender.send(postOf(orders));
    await areActive;
    opened.push({ maker, orders });
  }
  return { makers: opened, isActive: true };
}

/** Milliseconds from `newHeads` of a block with a transfer of each maker until the feed has the new status of the last order. */
export async function sampleFlip({ bench, steps }: SampleParts, flip: Flip): Promise<number> {
  const { chain, token } = bench;
  flip.isActive = !flip.isActive;
  const status = flip.isActive ? 'ACTIVE' : 'INACTIVE';
  const coming = flip.makers.flatMap(({ orders }) =>
    orders.map(({ orderHash }) => steps.next(`${status}/${orderHash}`)),
  );
  let transaction = '';
  for (const { maker } of flip.makers) {
    const [from, to] = flip.isActive ? [FRIEND, maker.address] : [maker.address, FRIEND];
    transaction = await chain.send(from, token, 'transfer', to, 1n);
  }
  await chain.mine();
  const readAtMs = (await Promise.all(coming)).map((entry) => entry.readAtMs);
  return Math.max(...readAtMs) - performance.timeOrigin - (await chain.seenAt(await chain.blockOf(transaction)));
}
