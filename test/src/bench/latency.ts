import { setTimeout as pause } from 'node:timers/promises';
import { paths } from '@makerbook/contracts-http';
import { type Feeds, followFeeds } from './follow-feeds.js';
import { type Bench, withBench } from './open-bench.js';
import { readMetrics, sumOfMetric } from './read-metrics.js';
import { type BenchRequest, openSender, type Sender } from './send-requests.js';
import { type BenchMaker, type BenchOrder, bodyOf } from './sign-orders.js';
import { describeLatency, printTable, round } from './summarise.js';

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
export async function benchLatency(isQuick: boolean): Promise<void> {
  const samples = isQuick ? 20 : 200;
  const loadedSamples = isQuick ? 50 : 1000;
  await withBench(async (bench) => {
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
    printTable(
      'From sending a POST of one order to ingress, on an idle stack, until it is answered, and until the feed says ACTIVE here. A maker without open orders is unknown: funds and nonce are read from the chain first.',
      {
        'POST → acknowledged': describeLatency([...again, ...first].map(({ acknowledgedMs }) => acknowledgedMs)),
        'POST → ACTIVE, maker with open orders': describeLatency(again.map(({ activeMs }) => activeMs)),
        'POST → ACTIVE, first order of its maker': describeLatency(first.map(({ activeMs }) => activeMs)),
      },
    );
    printTable(
      'From sending a DELETE of one order, ACTIVE for a moment, to ingress, on an idle stack, until it is answered, and until its tombstone is read here from the feed.',
      {
        'DELETE → acknowledged': describeLatency(cancels.map(({ acknowledgedMs }) => acknowledgedMs)),
        'DELETE → tombstone in the book': describeLatency(cancels.map(({ goneMs }) => goneMs)),
        'acknowledged → tombstone': describeLatency(
          cancels.map(({ acknowledgedMs, goneMs }) => Math.max(0, goneMs - acknowledgedMs)),
        ),
      },
    );

    const flips: Flip[] = [];
    for (const maker of flipped) flips.push(await openFlip(parts, maker));
    const nextFlip = (index: number) => sampleFlip(parts, flips[index % flips.length]);
    const idleSteps = await watchSteps(bench);
    printFlips('on an idle stack', await takeSamples(samples, nextFlip));
    printSteps('The same time in the projector', await idleSteps());

    const load = await signLoad(bench, loadedSamples);
    const stopLoad = startLoad(parts, load);
    await pause(LOAD_WARM_MS);
    const loadedSteps = await watchSteps(bench);
    const loaded = await takeSamples(loadedSamples, nextFlip);
    const steps = await loadedSteps();
    const ordersPerSecond = await stopLoad();
    printFlips(`while ${ordersPerSecond} orders a second are posted and acknowledged`, loaded);
    printSteps('The same time in the projector', steps);
    parts.sender.close();
    await feeds.stop();
  });
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

function printFlips(when: string, samples: readonly FlipSample[]): void {
  printTable(
    `From a block with a transfer that flips one order, ${when}: from \`newHeads\` here until the facts are read here from the log, and until the feed tells the order's new status. The last row is the part of the projector.`,
    {
      'block → facts in the log': describeLatency(samples.map(({ factsMs }) => factsMs)),
      'block → book': describeLatency(samples.map(({ bookMs }) => bookMs)),
      'facts → book': describeLatency(samples.map(({ bookMs, factsMs }) => bookMs - factsMs)),
    },
  );
}

/** Watches what the projector says of its own steps; the answer tells of the time in between. */
async function watchSteps({ stack }: Bench): Promise<() => Promise<Record<string, object>>> {
  const read = () => readMetrics(stack.opsUrl('projector'));
  const before = await read();
  const startedAt = performance.now();
  return async () => {
    const after = await read();
    const seconds = (performance.now() - startedAt) / 1000;
    const grown = (name: string) => sumOfMetric(after, name) - sumOfMetric(before, name);
    const row = (name: string, unit: number) => ({
      'per second': round(grown(`${name}_count`) / seconds, 1),
      mean: round((grown(`${name}_sum`) / grown(`${name}_count`)) * unit, 1),
    });
    return {
      'commit of a batch, ms': row('projector_commit_duration_seconds', 1000),
      'facts in it': row('projector_commit_facts', 1),
      'publication of its feed messages, ms': row('projector_publish_duration_seconds', 1000),
    };
  };
}

function printSteps(what: string, steps: Record<string, object>): void {
  printTable(`${what}, by its own metrics: batches of all partitions, those of blocks alone too.`, steps);
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
