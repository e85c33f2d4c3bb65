import { setTimeout as pause } from 'node:timers/promises';
import type { Sender } from '../kit/send-requests.js';
import { type MakerKey, type OrderToPost, postOf } from '../kit/sign-orders.js';
import { type Steps, wallMs } from './follow-steps.js';
import type { Bench } from './open-bench.js';

export interface SampleParts {
  readonly bench: Bench;
  readonly steps: Steps;
  /** Sends to ingress. */
  readonly sender: Sender;
}

/** The time of one way through the services, in all and for each step, in milliseconds. */
export interface Latency {
  readonly totalMs: number;
  /** Steps in their order. They add up to the total. */
  readonly steps: Readonly<Record<string, number>>;
  /** Time from sending the request until its answer. Undefined if a block began it. */
  readonly answeredMs?: number;
}

export interface PostLatency extends Latency {
  /** Time until the projector published ACTIVE, by its own stamp. */
  readonly publishedMs: number;
}

/** The account that takes tokens from makers and gives them back. */
const FRIEND = '0x00000000000000000000000000000000000f41e0';

/** Measures from sending a POST of one order until the feed says ACTIVE. */
export async function samplePost(
  { bench, steps, sender }: SampleParts,
  maker: MakerKey,
  order = bench.signOrder(maker),
): Promise<PostLatency> {
  const post = postOf([order]);
  const coming = [
    steps.next(`submitted/${order.orderHash}`),
    steps.next(`observed/${maker.address}`),
    steps.next(`ACTIVE/${order.orderHash}`),
  ] as const;
  const sentAtMs = wallMs();
  const answered = sender.send(post);
  const [submitted, observed, active] = await Promise.all(coming);
  return {
    totalMs: active.readAtMs - sentAtMs,
    publishedMs: active.writtenAtMs - sentAtMs,
    answeredMs: await answered,
    steps: {
      ingress: submitted.writtenAtMs - sentAtMs,
      'order through the log': submitted.readAtMs - submitted.writtenAtMs,
      'chain-watcher': observed.writtenAtMs - submitted.readAtMs,
      'reading through the log': observed.readAtMs - observed.writtenAtMs,
      projector: active.writtenAtMs - observed.readAtMs,
      'entry through the feed': active.readAtMs - active.writtenAtMs,
    },
  };
}

/** Measures from sending the DELETE of an order that has been ACTIVE for a moment until its tombstone is read. */
export async function sampleCancel(parts: SampleParts, maker: MakerKey): Promise<Latency> {
  const { bench, steps, sender } = parts;
  const order = await openOrder(parts, maker);
  await pause(50 + Math.random() * 100);
  const coming = [steps.next(`cancelled/${order.orderHash}`), steps.next(`GONE/${order.orderHash}`)] as const;
  const request = bench.signCancel(maker, order);
  const sentAtMs = wallMs();
  const answered = sender.send(request);
  const [cancelled, gone] = await Promise.all(coming);
  return {
    totalMs: gone.readAtMs - sentAtMs,
    answeredMs: await answered,
    steps: {
      ingress: cancelled.writtenAtMs - sentAtMs,
      'cancellation through the log': cancelled.readAtMs - cancelled.writtenAtMs,
      projector: gone.writtenAtMs - cancelled.readAtMs,
      'tombstone through the feed': gone.readAtMs - gone.writtenAtMs,
    },
  };
}

/** Makers with exactly the funds that each of their orders needs. A transfer of one unit flips all orders. */
export interface Flip {
  readonly makers: readonly { readonly maker: MakerKey; readonly orders: readonly OrderToPost[] }[];
  isActive: boolean;
}

/** @param ordersEach orders of each maker, in one POST */
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

/** Measures from `newHeads` of a block with a transfer of each maker until the feed has the last order's new status. */
export async function sampleFlip({ bench, steps }: SampleParts, flip: Flip): Promise<Latency> {
  const { chain, token } = bench;
  flip.isActive = !flip.isActive;
  const status = flip.isActive ? 'ACTIVE' : 'INACTIVE';
  const comingFacts = flip.makers.map(({ maker }) => steps.next(`observed/${maker.address}`));
  const comingEntries = flip.makers.flatMap(({ orders }) =>
    orders.map(({ orderHash }) => steps.next(`${status}/${orderHash}`)),
  );
  let transaction = '';
  for (const { maker } of flip.makers) {
    const [from, to] = flip.isActive ? [FRIEND, maker.address] : [maker.address, FRIEND];
    transaction = await chain.send(from, token, 'transfer', to, 1n);
  }
  await chain.mine();
  const [facts, entries] = await Promise.all([Promise.all(comingFacts), Promise.all(comingEntries)]);
  const seenAtMs = performance.timeOrigin + (await chain.seenAt(await chain.blockOf(transaction)));
  const observed = { writtenAtMs: latest(facts, 'writtenAtMs'), readAtMs: latest(facts, 'readAtMs') };
  const changed = { writtenAtMs: latest(entries, 'writtenAtMs'), readAtMs: latest(entries, 'readAtMs') };
  return {
    totalMs: changed.readAtMs - seenAtMs,
    steps: {
      'chain-watcher': observed.writtenAtMs - seenAtMs,
      'reading through the log': observed.readAtMs - observed.writtenAtMs,
      projector: changed.writtenAtMs - observed.readAtMs,
      'entry through the feed': changed.readAtMs - changed.writtenAtMs,
    },
  };
}

function latest<K extends string>(passages: readonly Readonly<Record<K, number>>[], of: K): number {
  return Math.max(...passages.map((passage) => passage[of]));
}

async function openOrder({ bench, steps, sender }: SampleParts, maker: MakerKey): Promise<OrderToPost> {
  const order = bench.signOrder(maker);
  const isActive = steps.next(`ACTIVE/${order.orderHash}`);
  await sender.send(postOf([order]));
  await isActive;
  return order;
}
