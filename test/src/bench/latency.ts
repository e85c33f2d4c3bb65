import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { type LoadGenerator, openLoadGenerator } from '../kit/generate-load.js';
import { readBusyMs } from '../kit/read-processes.js';
import { openSender, type PreparedRequest } from '../kit/send-requests.js';
import { type MakerKey, postOf } from '../kit/sign-orders.js';
import { median, percentile } from '../kit/summarise.js';
import { followSteps } from './follow-steps.js';
import { type LatencyFloor, openLatencyFloor } from './latency-floor.js';
import { type Bench, withBench } from './open-bench.js';
import { type BenchOptions, compare, type Figure, type Goal, type Sample, state } from './report.js';
import {
  type Flip,
  type Latency,
  openFlip,
  type SampleParts,
  sampleCancel,
  sampleFlip,
  samplePost,
} from './sample-latency.js';

/** The default of a deployment. */
const PARTITIONS = 12;
const WARMING_SAMPLES = 10;
const POSTING_MAKERS = 8;
const ORDERS_PER_MAKER = 1000;
const FLIPPED_MAKERS = 8;
/** A block that touches a thousand orders. */
const WIDE_FLIP = { makers: 10, ordersEach: 100 };

const LOAD_ORDERS_PER_REQUEST = 10;
/** Enough makers to have orders in most of the partitions. */
const LOAD_MAKERS_MIN = 100;
const SATURATING_CONNECTIONS = 16;
const LOAD_WARM_MS = 3_000;

const goals = {
  idlePost: { p50: { ratioMax: 2 }, p99: { ratioMax: 2.5 } },
  loadedPost: { p50: { ratioMax: 2.8 }, p99: { ratioMax: 6 } },
  cancel: { p50: { ratioMax: 2.4 }, p99: { ratioMax: 3 } },
  loadedBlock: { p99: { valueMax: 80 } },
  wideBlock: { p99: { valueMax: 80 } },
  saturating: { referenceMin: 2_600 },
} as const;

/** How much is measured. */
interface Size {
  readonly rounds: number;
  /** Samples of each kind in a round of the idle stack. */
  readonly samples: number;
  readonly wideSamples: number;
  readonly saturatingRequests: number;
  readonly loadSeconds: number;
}

/** Samples of one kind, round by round. */
type Rounds = readonly { readonly taken: readonly Latency[]; readonly floorsMs: readonly number[] }[];

/**
 * Measures how long it takes until the router knows of a POST, a DELETE and a block: idle, and at half of the load that
 * saturates the services. The floor is the least that each path needs, measured in turn with it on the idle stack.
 */
export function benchLatency({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const size = isQuick
    ? { rounds: 2, samples: 10, wideSamples: 4, saturatingRequests: 40, loadSeconds: 10 }
    : { rounds: 5, samples: 40, wideSamples: 30, saturatingRequests: 300, loadSeconds: 90 };
  return withBench((bench) => measure(bench, size), { PARTITIONS: String(PARTITIONS) });
}

async function measure(bench: Bench, size: Size): Promise<readonly Figure[]> {
  const steps = await followSteps(bench.stack);
  const parts: SampleParts = { bench, steps, sender: openSender(bench.portOf('ingress')) };
  const floor = await openLatencyFloor(bench);
  const load = openLoadGenerator();
  try {
    const posting = await bench.openMakers(POSTING_MAKERS, ORDERS_PER_MAKER);
    const flips: Flip[] = [];
    for (const maker of await bench.openMakers(FLIPPED_MAKERS, 1)) flips.push(await openFlip(parts, [maker], 1));
    const wide = await openFlip(parts, await bench.openMakers(WIDE_FLIP.makers, 1), WIDE_FLIP.ordersEach);
    const post = (index: number) => samplePost(parts, itemAt(posting, index));
    const flip = (index: number) => sampleFlip(parts, itemAt(flips, index));
    const cancel = (index: number) => sampleCancel(parts, itemAt(posting, index));
    for (const kind of [post, flip, cancel]) await takeSamples(WARMING_SAMPLES, kind);

    const idle = await measureIdle(floor, size, { post, cancel, flip });
    const widely = await takeSamples(size.wideSamples, () => sampleFlip(parts, wide));
    console.log('under load');
    const saturating = await saturate(parts, load, size.saturatingRequests);
    const loaded = await measureLoaded(bench, load, { ordersPerSecond: saturating / 2, size, post, flip });
    return describe({ idle, widely, saturating, loaded });
  } finally {
    load.close();
    parts.sender.close();
    await floor.stop();
    await steps.stop();
  }
}

interface Measured {
  readonly idle: Readonly<Record<'post' | 'cancel' | 'flip', Rounds>>;
  readonly widely: readonly Latency[];
  readonly saturating: number;
  readonly loaded: { readonly posts: readonly Latency[]; readonly flips: readonly Latency[]; readonly busy: number };
}

function describe({ idle, widely, saturating, loaded }: Measured): readonly Figure[] {
  const atHalf = `at ${Math.round(saturating / 2)} orders per s`;
  const posts = [{ taken: loaded.posts, floorsMs: idle.post.flatMap(({ floorsMs }) => floorsMs) }];
  const flips = [{ taken: loaded.flips, floorsMs: [] }];
  const wide = [{ taken: widely, floorsMs: [] }];
  const kinds = { 'POST, idle': idle.post, [`POST, ${atHalf}`]: posts, 'DELETE, idle': idle.cancel };
  const blocks = { 'block, idle': idle.flip, [`block, ${atHalf}`]: flips, 'block of 1,000 orders, idle': wide };
  for (const [name, rounds] of Object.entries({ ...kinds, ...blocks })) console.log(describeSteps(name, rounds));
  return [
    ...quantiles('POST → ACTIVE, idle', idle.post, goals.idlePost),
    ...quantiles(`POST → ACTIVE, ${atHalf}`, posts, goals.loadedPost),
    ...quantiles('DELETE → tombstone, idle', idle.cancel, goals.cancel),
    ...quantiles('block → status of one order, idle', idle.flip, {}),
    ...quantiles(`block → status of one order, ${atHalf}`, flips, goals.loadedBlock),
    ...quantiles('block → status of 1,000 orders, idle', wide, goals.wideBlock),
    ...Object.entries(kinds).flatMap(([name, rounds]) => answers(name, rounds)),
    state('orders that saturate the stack', 'orders per s', saturating, goals.saturating),
    state(`cores that are busy ${atHalf}, of ${availableParallelism()}`, 'cores', loaded.busy),
  ];
}

type Kinds = Readonly<Record<'post' | 'cancel' | 'flip', (index: number) => Promise<Latency>>>;

/** Takes floors and samples in turn. */
async function measureIdle(floor: LatencyFloor, { rounds, samples }: Size, kinds: Kinds) {
  const taken = { post: [] as Rounds[number][], cancel: [] as Rounds[number][], flip: [] as Rounds[number][] };
  for (let round = 0; round < rounds; round += 1) {
    console.log(`idle, round ${round + 1} of ${rounds}`);
    const posts = await takeSamples(samples, floor.post);
    taken.post.push({ floorsMs: posts, taken: await takeSamples(samples, kinds.post) });
    const hops = await takeSamples(samples, floor.cancel);
    taken.cancel.push({ floorsMs: hops, taken: await takeSamples(samples, kinds.cancel) });
    taken.flip.push({ floorsMs: [], taken: await takeSamples(samples, kinds.flip) });
  }
  return taken;
}

/** Orders a second that become ACTIVE if clients wait only for their own answers. */
async function saturate({ bench, steps }: SampleParts, load: LoadGenerator, requests: number): Promise<number> {
  const signed = await openLoad(bench, load, requests);
  const orders = requests * LOAD_ORDERS_PER_REQUEST;
  const [before, startedAtMs] = [steps.count('ACTIVE'), performance.now()];
  await load.send(bench.portOf('ingress'), signed, { atOnce: SATURATING_CONNECTIONS });
  await steps.untilCount('ACTIVE', before + orders);
  return (1000 * orders) / (performance.now() - startedAtMs);
}

interface Load extends Pick<Kinds, 'post' | 'flip'> {
  readonly ordersPerSecond: number;
  readonly size: Size;
}

/** Samples both kinds in turn, one after the other, while a child process posts the load at its pace. */
async function measureLoaded(bench: Bench, load: LoadGenerator, { ordersPerSecond, size, post, flip }: Load) {
  const perSecond = ordersPerSecond / LOAD_ORDERS_PER_REQUEST;
  const signed = await openLoad(bench, load, Math.ceil(perSecond * size.loadSeconds));
  const sending = load.send(bench.portOf('ingress'), signed, { perSecond });
  const posts: Latency[] = [];
  const flips: Latency[] = [];
  let hasEnded = false;
  const ended = sending.finally(() => {
    hasEnded = true;
  });
  ended.catch(() => undefined);
  await pause(LOAD_WARM_MS);
  const [busyMs, startedAtMs] = [readBusyMs(), performance.now()];
  for (let index = 0; !hasEnded; index += 1) {
    posts.push(...(await takeSamples(1, () => post(index))));
    flips.push(...(await takeSamples(1, () => flip(index))));
  }
  const busy = (readBusyMs() - busyMs) / (performance.now() - startedAtMs);
  await ended;
  return { posts, flips, busy };
}

/**
 * Requests of makers who hold what their orders sell, and who have posted before. A maker's first POST waits until the
 * read model has reached the end of the log, and is refused if that takes too long.
 */
async function openLoad(bench: Bench, load: LoadGenerator, requests: number): Promise<readonly PreparedRequest[]> {
  // One of a maker's orders goes into its first POST.
  const requestsEach = Math.floor((ORDERS_PER_MAKER - 1) / LOAD_ORDERS_PER_REQUEST);
  const fewest = Math.ceil(requests / requestsEach);
  const makers = await bench.openMakers(Math.max(LOAD_MAKERS_MIN, fewest), ORDERS_PER_MAKER);
  const sign = (count: number, ordersEach: number) =>
    Array.from({ length: count }, (_, index): PreparedRequest => {
      const maker: MakerKey = itemAt(makers, index);
      const orders = Array.from({ length: ordersEach }, () => bench.signOrder(maker));
      return postOf(orders);
    });
  await load.send(bench.portOf('ingress'), sign(makers.length, 1), { atOnce: 1 });
  await pause(LOAD_WARM_MS);
  return sign(requests, LOAD_ORDERS_PER_REQUEST);
}

/** Takes samples at no fixed distance from the blocks of the stack, nor from any poll. */
async function takeSamples<T>(count: number, take: (index: number) => Promise<T>): Promise<T[]> {
  const taken: T[] = [];
  for (let index = 0; index < count; index += 1) {
    await pause(20 + Math.random() * 100);
    taken.push(await take(index));
  }
  return taken;
}

/** The median by rounds, and the slowest hundredth of all rounds together: one round has too few samples for it. */
function quantiles(name: string, rounds: Rounds, goals: Readonly<Partial<Record<'p50' | 'p99', Goal>>>): Figure[] {
  const all = [{ taken: rounds.flatMap(({ taken }) => taken), floorsMs: rounds.flatMap(({ floorsMs }) => floorsMs) }];
  return [
    figureOf(`${name}, p50`, atShare(rounds, 0.5), goals.p50),
    figureOf(`${name}, p99`, atShare(all, 0.99), goals.p99),
  ];
}

function atShare(rounds: Rounds, share: number): readonly Sample[] {
  return rounds.map(({ taken, floorsMs }) => ({
    value: percentile(
      taken.map(({ totalMs }) => totalMs),
      share,
    ),
    floor: percentile(floorsMs, share),
  }));
}

function figureOf(name: string, samples: readonly Sample[], goal: Goal | undefined): Figure {
  if (samples.some(({ floor }) => Number.isNaN(floor))) {
    const values = samples.map(({ value }) => value);
    return state(name, 'ms', median(values), goal !== undefined && 'valueMax' in goal ? goal : undefined);
  }
  return compare(name, 'ms', samples, goal);
}

function answers(name: string, rounds: Rounds): Figure[] {
  const answered = rounds.flatMap(({ taken }) => taken.flatMap(({ answeredMs }) => answeredMs ?? []));
  return [0.5, 0.99].map((share) =>
    state(`${name}, until the answer, p${share * 100}`, 'ms', percentile(answered, share)),
  );
}

/** Tells where the time goes: the mean of each step in milliseconds, because means add up. */
function describeSteps(name: string, rounds: Rounds): string {
  const taken = rounds.flatMap((round) => round.taken);
  const means = Object.keys(taken[0]?.steps ?? {}).map((step) => {
    const sum = taken.reduce((total, { steps }) => total + (steps[step] ?? 0), 0);
    return `${step} ${(sum / taken.length).toFixed(1)}`;
  });
  return `${name}, means in ms: ${means.join(', ')}`;
}

function itemAt<T>(items: readonly T[], index: number): T {
  const item = items[index % items.length];
  if (item === undefined) throw new Error('the bench has opened too few makers');
  return item;
}
