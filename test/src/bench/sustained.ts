import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type LoadGenerator, openLoadGenerator } from '../kit/generate-load.js';
import { readBusyMs, readPssMb } from '../kit/read-processes.js';
import { openSender, type PreparedRequest, type Sender } from '../kit/send-requests.js';
import { type MakerKey, type OrderToPost, postOf } from '../kit/sign-orders.js';
import { percentile, sum } from '../kit/summarise.js';
import { followSteps, type Steps } from './follow-steps.js';
import { type Bench, withBench } from './open-bench.js';
import { bytesUnder } from './read-disk.js';
import { type BenchOptions, compare, type Figure, type Goal, state } from './report.js';
import { samplePost } from './sample-latency.js';

const MAKERS = 100;
const ORDERS_PER_REQUEST = 10;
/** Requests whose orders stay open before they are cancelled. */
const OPEN_REQUESTS = 1_000;
const AT_ONCE = 16;
const SATURATING_PAIRS = 2_000;
/** Share of the cores that the stack, the load and this process take. */
const BUSY_SHARE = 0.7;
/** Minutes that are compared, at the beginning and at the end. */
const EDGE_MINUTES = 5;
const SAMPLE_MS = 500;
/** Services that get no requests. */
const IDLE_SERVICES = ['query', 'gateway'];
const P50_GOAL = { ratioMax: 1.05 };
const P99_GOAL = { ratioMax: 1.3 };
const DISK_GOAL = { valueMax: 2_000 };
/** Garbage that is not collected yet differs by a fifth between runs. */
const MEMORY_GOAL = { ratioMax: 1.3 };
/** The memory of these must not grow. Parts may keep what they are told to. */
const SERVICES = ['ingress', 'chain-watcher', 'projector', 'query', 'gateway'];

interface Minute {
  readonly postMs: readonly number[];
  readonly cancelMs: readonly number[];
  readonly activeMs: readonly number[];
  readonly memoryMb: ReadonlyMap<string, number>;
  /** Microseconds for each order that was placed and each older one that was cancelled. */
  readonly cpuPerOrder: ReadonlyMap<string, number>;
}

interface Run {
  readonly bench: Bench;
  readonly load: LoadGenerator;
  /** Posts the single orders that are followed. */
  readonly maker: MakerKey;
  readonly sender: Sender;
  readonly steps: Steps;
  readonly nextPair: () => Pair;
}

/** A POST of ten orders, and a DELETE of ten older ones. */
interface Pair {
  readonly post: PreparedRequest;
  readonly cancel: PreparedRequest | undefined;
}

/**
 * Puts the whole stack under a steady load, 70 % of what it can take. Compares the last minutes with the first, and
 * measures what an order that came and went leaves on disk. Signs the next minute's requests while it sends this one's.
 */
export async function benchSustained({ isQuick, minutes }: BenchOptions): Promise<readonly Figure[]> {
  return withBench(async (bench) => {
    const [maker, ...makers] = await bench.openMakers(MAKERS + 1, 1_000_000);
    if (maker === undefined) throw new Error('there is no maker');
    const run: Run = {
      bench,
      load: openLoadGenerator(),
      maker,
      sender: openSender(bench.portOf('ingress')),
      steps: await followSteps(bench.stack),
      nextPair: createPairs(bench, makers),
    };
    try {
      const saturating = await saturate(run, isQuick ? SATURATING_PAIRS / 10 : SATURATING_PAIRS);
      const seconds = isQuick ? 10 : 60;
      const { perSecond, next } = await findPace(run, saturating / 2, seconds);
      const edge = isQuick ? 1 : EDGE_MINUTES;
      const measured: Minute[] = [];
      const stored = bytesStored(bench);
      let pairs = next;
      while (measured.length < (isQuick ? 2 : minutes)) {
        const ran = await runMinute(run, pairs, perSecond, perSecond * seconds);
        measured.push(ran.minute);
        pairs = ran.next;
      }
      const orders = sum(measured.map(({ postMs }) => postMs.length * ORDERS_PER_REQUEST));
      return [
        state('saturating: placed, and as many older ones cancelled', 'orders per s', saturating * ORDERS_PER_REQUEST),
        state('sustained: placed, and as many older ones cancelled', 'orders per s', perSecond * ORDERS_PER_REQUEST),
        ...describe(measured.slice(-edge), measured.slice(0, edge)),
        state('disk of Kafka and Postgres', 'bytes per order', (bytesStored(bench) - stored) / orders, DISK_GOAL),
      ];
    } finally {
      run.load.close();
      run.sender.close();
      await run.steps.stop();
    }
  });
}

function describe(last: readonly Minute[], first: readonly Minute[]): Figure[] {
  const by = (name: string, unit: string, figureOf: (minutes: readonly Minute[]) => number, goal?: Goal) =>
    compare(`${name}, last minutes by first`, unit, [{ value: figureOf(last), floor: figureOf(first) }], goal);
  const latency = (name: string, samplesOf: (minute: Minute) => readonly number[]) => {
    const atShare = (share: number) => (minutes: readonly Minute[]) => percentile(minutes.flatMap(samplesOf), share);
    return [by(`${name}, p50`, 'ms', atShare(0.5), P50_GOAL), by(`${name}, p99`, 'ms', atShare(0.99), P99_GOAL)];
  };
  const byProcess = (what: string, unit: string, of: (minute: Minute) => ReadonlyMap<string, number>, goal?: Goal) =>
    [...(first[0] === undefined ? [] : of(first[0]).keys())].map((name) => {
      const mean = (minutes: readonly Minute[]) =>
        sum(minutes.map((minute) => of(minute).get(name) ?? 0)) / minutes.length;
      return by(`${what} of ${name}`, unit, mean, SERVICES.includes(name) ? goal : undefined);
    });
  return [
    ...latency(`POST of ${ORDERS_PER_REQUEST}`, ({ postMs }) => postMs),
    ...latency(`DELETE of ${ORDERS_PER_REQUEST}`, ({ cancelMs }) => cancelMs),
    ...latency('POST → ACTIVE, as the projector publishes it', ({ activeMs }) => activeMs),
    ...byProcess('PSS', 'MB', ({ memoryMb }) => memoryMb, MEMORY_GOAL),
    ...byProcess('CPU per order', 'µs', ({ cpuPerOrder }) => cpuPerOrder),
  ];
}

/** Pairs of requests per second that the saturated stack carries to the book. */
async function saturate(run: Run, pairs: number): Promise<number> {
  // Open as many orders as are open later on.
  await saturateWith(run, OPEN_REQUESTS + pairs / 5);
  return pairs / (await saturateWith(run, pairs));
}

/** @returns seconds until every cancelled order has left the book, because an answer alone leaves work behind */
async function saturateWith({ bench, load, steps, nextPair }: Run, count: number): Promise<number> {
  const pairs = pairsOf(count, nextPair);
  const cancelled = pairs.filter(({ cancel }) => cancel !== undefined).length * ORDERS_PER_REQUEST;
  const [before, startedAt] = [steps.count('GONE'), performance.now()];
  await load.send(bench.portOf('ingress'), requestsOf(pairs), { atOnce: AT_ONCE });
  await steps.untilCount('GONE', before + cancelled);
  return (performance.now() - startedAt) / 1000;
}

/**
 * Finds the pairs per second that keep the cores busy for `BUSY_SHARE`, and signs those of the next minute. A paced
 * pair costs more than one that waits with many, because fewer share a batch.
 * @param tried the pairs per second to measure with
 */
async function findPace(run: Run, tried: number, seconds: number): Promise<{ perSecond: number; next: Pair[] }> {
  const pairs = pairsOf(tried * seconds, run.nextPair);
  const [beforeMs, startedAtMs] = [readBusyMs(), performance.now()];
  const { next } = await runMinute(run, pairs, tried, pairs.length);
  const busyShare = (readBusyMs() - beforeMs) / (performance.now() - startedAtMs) / availableParallelism();
  return { perSecond: (tried * BUSY_SHARE) / busyShare, next };
}

/** Sends the pairs at their pace. Meanwhile follows orders to the book, and signs the next pairs. */
async function runMinute(
  run: Run,
  pairs: readonly Pair[],
  perSecond: number,
  nextCount: number,
): Promise<{ minute: Minute; next: Pair[] }> {
  const { bench, load, nextPair } = run;
  let isDone = false;
  const sending = load.send(bench.portOf('ingress'), requestsOf(pairs), { perSecond: 2 * perSecond }).finally(() => {
    isDone = true;
  });
  sending.catch(() => undefined);
  const activeMs: number[] = [];
  const next: Pair[] = [];
  const before = bench.cpu();
  while (!isDone) {
    const startedAtMs = performance.now();
    activeMs.push(await followOrder(run));
    next.push(...pairsOf(Math.min(nextCount - next.length, perSecond), nextPair));
    await pause(Math.max(0, SAMPLE_MS - (performance.now() - startedAtMs)));
  }
  const { latencyMs } = await sending;
  const after = [...bench.cpu()].filter(([name]) => !IDLE_SERVICES.includes(name));
  next.push(...pairsOf(nextCount - next.length, nextPair));
  const minute: Minute = {
    postMs: latencyMs.filter((_, index) => index % 2 === 0),
    cancelMs: latencyMs.filter((_, index) => index % 2 === 1),
    activeMs,
    memoryMb: new Map(bench.stack.processes().map(({ name, pid }) => [name, readPssMb(pid)])),
    cpuPerOrder: new Map(
      after.map(([name, us]) => [name, (us - (before.get(name) ?? 0)) / (pairs.length * ORDERS_PER_REQUEST)]),
    ),
  };
  return { minute, next };
}

/**
 * Milliseconds from a POST until the projector publishes ACTIVE, by the projector's stamp: this process signs, and so
 * reads late. Then cancels the order.
 */
async function followOrder({ bench, steps, sender, maker }: Run): Promise<number> {
  const order = bench.signOrder(maker);
  const { publishedMs } = await samplePost({ bench, steps, sender }, maker, order);
  await sender.send(bench.signCancel(maker, order));
  return publishedMs;
}

/** Makes POSTs of one maker after the other. Pairs each with the DELETE of the oldest open orders. */
function createPairs(bench: Bench, makers: readonly MakerKey[]): () => Pair {
  const open: { readonly maker: MakerKey; readonly orders: readonly OrderToPost[] }[] = [];
  let turn = 0;
  return () => {
    const maker = makers[turn % makers.length];
    if (maker === undefined) throw new Error('there is no maker');
    turn += 1;
    const orders = Array.from({ length: ORDERS_PER_REQUEST }, () => bench.signOrder(maker));
    open.push({ maker, orders });
    const oldest = open.length > OPEN_REQUESTS ? open.shift() : undefined;
    const post = postOf(orders);
    return { post, cancel: oldest && bench.signCancel(oldest.maker, ...oldest.orders) };
  };
}

function pairsOf(count: number, nextPair: () => Pair): Pair[] {
  return Array.from({ length: Math.max(0, Math.ceil(count)) }, nextPair);
}

function requestsOf(pairs: readonly Pair[]): PreparedRequest[] {
  return pairs.flatMap(({ post, cancel }) => (cancel === undefined ? [post] : [post, cancel]));
}

/** Sums log, feeds and read model. Leaves out what Postgres keeps for a crash, which comes and goes. */
function bytesStored({ stack }: Bench): number {
  const records = bytesUnder(join(stack.folder, 'kafka'), (path) => path.endsWith('.log'));
  return records + bytesUnder(join(stack.folder, 'postgres', 'base'));
}
