import { setTimeout as pause } from 'node:timers/promises';
import { paths } from '@makerbook/contracts-http';
import { type Feeds, followFeeds } from './follow-feeds.js';
import { type Bench, withBench } from './open-bench.js';
import { readMetrics, sumOfMetric } from './read-metrics.js';
import { type BenchOptions, type Figure, state } from './report.js';
import { type BenchRequest, openSender, type Sender } from './send-requests.js';
import { type BenchMaker, type BenchOrder, bodyOf } from './sign-orders.js';
import { percentile } from './summarise.js';

const KNOWN_MAKERS = 8;
const FLIPPED_MAKERS = 8;
const WARMING_SAMPLES = 10;
/** Takes tokens away from makers, and gives them back. */
const FRIEND = '0x00000000000000000000000000000000000f41e0';

const LOAD_REQUESTS_PER_SECOND = 30;
const LOAD_ORDERS_PER_REQUEST = 10;
const LOAD_WARM_MS = 3_000;
/** A sample takes a quarter of a second or so; this much is signed for each. */
const LOAD_MS_PER_SAMPLE = 600;
const ORDERS_PER_MAKER = 1000;

interface Parts {
  readonly bench: Bench;
  readonly feeds: Feeds;
  readonly sender: Sender;
}

/**
 * How long it takes until the router knows, from a POST and from a block, idle and under a steady load of POSTs. Under load
 * with more samples: there the slowest hundredth is far from the others.
 */
export async function benchLatency({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const samples = isQuick ? 20 : 200;
  const loadedSamples = isQuick ? 50 : 1000;
  return withBench(async (bench) => {
    const posting = await bench.openMakers(KNOWN_MAKERS, ORDERS_PER_MAKER);
    const fresh = await bench.openMakers(samples + WARMING_SAMPLES, 1);
    const flipped = await bench.openMakers(FLIPPED_MAKERS, 1);
    const feeds = await followFeeds(bench.stack, { withFacts: true });
    const parts: Parts = { bench, feeds, sender: openSender(bench.portOf('ingress')) };

    const nextPost = (makers: readonly BenchMaker[]) => (index: number) =>
      samplePost(parts, makers[index % makers.length]);
    const again = await takeSamples(samples, nextPost(posting));
    const cancels = await takeSamples(samples, (index) => sampleCancel(parts, posting[index % posting.length]));
    const first = await takeSamples(samples, nextPost(fresh));
    const flips: Flip[] = [];
    for (const maker of flipped) flips.push(await openFlip(parts, maker));
    const nextFlip = (index: number) => sampleFlip(parts, flips[index % flips.length]);
    const idleSteps = await watchSteps(bench);
    const idle = await takeSamples(samples, nextFlip);
    const steps = await idleSteps();

    const load = await signLoad(bench, loadedSamples);
    const stopLoad = startLoad(parts, load);
    await pause(LOAD_WARM_MS);
    const loadedSteps = await watchSteps(bench);
    const loaded = await takeSamples(loadedSamples, nextFlip);
    const underLoad = await loadedSteps();
    const ordersPerSecond = await stopLoad();
    parts.sender.close();
    await feeds.stop();
    return [
      ...quantiles(
        'POST → acknowledged',
        [...again, ...first].map(({ acknowledgedMs }) => acknowledgedMs),
      ),
      ...quantiles(
        'POST → ACTIVE, maker with open orders',
        again.map(({ activeMs }) => activeMs),
      ),
      ...quantiles(
        'POST → ACTIVE, first order of its maker',
        first.map(({ activeMs }) => activeMs),
      ),
      ...quantiles(
        'DELETE → acknowledged',
        cancels.map(({ acknowledgedMs }) => acknowledgedMs),
      ),
      ...quantiles(
        'DELETE → tombstone in the book',
        cancels.map(({ goneMs }) => goneMs),
      ),
      ...ofFlips('idle', idle),
      ...steps('idle'),
      ...ofFlips(`${ordersPerSecond} orders a second`, loaded),
      ...underLoad(`${ordersPerSecond} orders a second`),
    ];
  });
}

function quantiles(name: string, samplesMs: readonly number[]): readonly Figure[] {
  return [0.5, 0.99].map((share) => state(`${name}, p${share * 100}`, 'ms', percentile(samplesMs, share)));
}

async function takeSamples<T>(count: number, take: (index: number) => Promise<T>): Promise<T[]> {
  const taken: T[] = [];
  for (let index = 0; index < count + WARMING_SAMPLES; index += 1) {
    // At no fixed distance from the blocks of the stack, nor from any poll.
    await pause(50 + Math.random() * 150);
    const sample = await take(index);
    if (index >= WARMING_SAMPLES) taken.push(sample);
  }
  return taken;
}

interface PostSample {
  readonly acknowledgedMs: number;
  readonly activeMs: number;
}

async function samplePost({ bench, feeds, sender }: Parts, maker: BenchMaker | undefined): Promise<PostSample> {
  const order = bench.signOrder(known(maker));
  const said = feeds.nextStatus(order.orderHash, 'ACTIVE');
  const sentAt = performance.now();
  const [acknowledgedMs, activeAt] = await Promise.all([
    sender.send({ method: 'POST', path: paths.limitOrders, body: bodyOf([order]) }),
    said,
  ]);
  return { acknowledgedMs, activeMs: activeAt - sentAt };
}

interface CancelSample {
  readonly acknowledgedMs: number;
  readonly goneMs: number;
}

async function sampleCancel({ bench, feeds, sender }: Parts, sampled: BenchMaker | undefined): Promise<CancelSample> {
  const maker = known(sampled);
  const order = bench.signOrder(maker);
  const isActive = feeds.nextStatus(order.orderHash, 'ACTIVE');
  await sender.send({ method: 'POST', path: paths.limitOrders, body: bodyOf([order]) });
  await isActive;
  await pause(50 + Math.random() * 100);
  const said = feeds.nextStatus(order.orderHash, 'GONE');
  const sentAt = performance.now();
  const [acknowledgedMs, goneAt] = await Promise.all([sender.send(bench.signCancel(maker, order)), said]);
  return { acknowledgedMs, goneMs: goneAt - sentAt };
}

/** A maker who holds exactly what the one order sells: a transfer of one unit decides whether it can be filled. */
interface Flip {
  readonly maker: BenchMaker;
  readonly order: BenchOrder;
  isActive: boolean;
}

async function openFlip({ bench, feeds, sender }: Parts, maker: BenchMaker): Promise<Flip> {
  const order = bench.signOrder(maker);
  const isActive = feeds.nextStatus(order.orderHash, 'ACTIVE');
  await sender.send({ method: 'POST', path: paths.limitOrders, body: bodyOf([order]) });
  await isActive;
  await bench.chain.giveGas(FRIEND);
  return { maker, order, isActive: true };
}

interface FlipSample {
  readonly bookMs: number;
  readonly factsMs: number;
}

async function sampleFlip({ bench, feeds }: Parts, sampled: Flip | undefined): Promise<FlipSample> {
  const flip = known(sampled);
  const maker = flip.maker.address;
  flip.isActive = !flip.isActive;
  const said = feeds.nextStatus(flip.order.orderHash, flip.isActive ? 'ACTIVE' : 'INACTIVE');
  const [from, to] = flip.isActive ? [FRIEND, maker] : [maker, FRIEND];
  const transaction = await bench.chain.send(from, bench.token, 'transfer', to, 1n);
  await bench.chain.mine();
  const [saidAt, blockNumber] = await Promise.all([said, bench.chain.blockOf(transaction)]);
  const seenAt = await bench.chain.seenAt(blockNumber);
  return { bookMs: saidAt - seenAt, factsMs: feeds.factsReadAt(maker, blockNumber) - seenAt };
}

/** A block with a transfer that flips one order: from `newHeads` here until the facts are read here, and the new status. */
function ofFlips(when: string, samples: readonly FlipSample[]): readonly Figure[] {
  return [
    ...quantiles(
      `block → facts in the log, ${when}`,
      samples.map(({ factsMs }) => factsMs),
    ),
    ...quantiles(
      `block → book, ${when}`,
      samples.map(({ bookMs }) => bookMs),
    ),
  ];
}

/** Watches what the projector says of its own steps: batches of all partitions, those of blocks alone too. */
async function watchSteps({ stack }: Bench): Promise<() => Promise<(when: string) => readonly Figure[]>> {
  const read = () => readMetrics(stack.opsUrl('projector'));
  const before = await read();
  return async () => {
    const after = await read();
    const grown = (name: string) => sumOfMetric(after, name) - sumOfMetric(before, name);
    const mean = (name: string) => grown(`${name}_sum`) / grown(`${name}_count`);
    return (when) => [
      state(`commit of a batch, mean, ${when}`, 'ms', mean('projector_commit_duration_seconds') * 1000),
      state(`facts in it, mean, ${when}`, 'facts', mean('projector_commit_facts')),
      state(`publication of its feed messages, mean, ${when}`, 'ms', mean('projector_publish_duration_seconds') * 1000),
    ];
  };
}

/** Requests for the whole time of the samples; makers hold what their orders sell. */
async function signLoad(bench: Bench, samples: number): Promise<readonly BenchRequest[]> {
  const seconds = (LOAD_WARM_MS + (samples + WARMING_SAMPLES) * LOAD_MS_PER_SAMPLE) / 1000;
  const requests = Math.ceil(seconds * LOAD_REQUESTS_PER_SECOND);
  const makersCount = Math.ceil((requests * LOAD_ORDERS_PER_REQUEST) / ORDERS_PER_MAKER);
  const makers = await bench.openMakers(makersCount, ORDERS_PER_MAKER);
  return Array.from({ length: requests }, (_, index) => {
    const maker = known(makers[index % makersCount]);
    const orders = Array.from({ length: LOAD_ORDERS_PER_REQUEST }, () => bench.signOrder(maker));
    return { method: 'POST', path: paths.limitOrders, body: bodyOf(orders) };
  });
}

/** Posts at a steady pace, whether answers come or not. Stopping waits for them, and tells the orders per second. */
function startLoad({ sender }: Parts, requests: readonly BenchRequest[]): () => Promise<number> {
  const answers: Promise<number>[] = [];
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startedAt) * LOAD_REQUESTS_PER_SECOND) / 1000);
    for (const request of requests.slice(answers.length, due)) answers.push(sender.send(request));
  }, 1000 / LOAD_REQUESTS_PER_SECOND);
  return async () => {
    clearInterval(timer);
    await Promise.all(answers);
    if (answers.length === requests.length) throw new Error('the load ended before the samples: sign more of it');
    return Math.round((answers.length * LOAD_ORDERS_PER_REQUEST * 1000) / (performance.now() - startedAt));
  };
}

function known<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the bench has opened too few makers');
  return value;
}
