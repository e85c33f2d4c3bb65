import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { paths } from '@makerbook/contracts-http';
import { followSteps, type Steps } from './follow-steps.js';
import { type LoadGenerator, openLoadGenerator } from './generate-load.js';
import { type Bench, withBench } from './open-bench.js';
import { bytesUnder } from './read-disk.js';
import { readMemory } from './read-processes.js';
import { type BenchOptions, compare, type Figure, state } from './report.js';
import { samplePost } from './sample-latency.js';
import { type BenchRequest, openSender, type Sender } from './send-requests.js';
import { type BenchMaker, type BenchOrder, bodyOf } from './sign-orders.js';
import { percentile } from './summarise.js';

const MAKERS = 100;
const ORDERS_PER_REQUEST = 10;
/** Requests whose orders stay open before they are cancelled. */
const OPEN_REQUESTS = 1_000;
const AT_ONCE = 16;
const SATURATING_PAIRS = 500;
const SHARE_OF_SATURATION = 0.7;
/** Minutes that are compared, at the beginning and at the end. */
const EDGE_MINUTES = 5;
const SAMPLE_MS = 500;
const GOAL = { ratioMax: 1.05 };

interface Minute {
  readonly postMs: readonly number[];
  readonly cancelMs: readonly number[];
  readonly activeMs: readonly number[];
  readonly memoryMb: ReadonlyMap<string, number>;
}

interface Run {
  readonly bench: Bench;
  readonly load: LoadGenerator;
  /** Of single orders, its own, that are followed. */
  readonly maker: BenchMaker;
  readonly sender: Sender;
  readonly steps: Steps;
  readonly nextPair: () => Pair;
}

/** A POST of ten orders, and a DELETE of ten older ones. */
interface Pair {
  readonly post: BenchRequest;
  readonly cancel: BenchRequest | undefined;
}

/**
 * The whole stack under a load that stays the same, 70 % of what it can take: the first minutes against the last ones, and what an
 * order that came and went leaves on disk. The next minute's requests are signed while this one's are sent.
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
      const perSecond = SHARE_OF_SATURATION * (await saturate(run, isQuick ? SATURATING_PAIRS / 10 : SATURATING_PAIRS));
      const edge = isQuick ? 1 : EDGE_MINUTES;
      const measured: Minute[] = [];
      const stored = bytesStored(bench);
      let pairs = pairsOf(perSecond * (isQuick ? 10 : 60), run.nextPair);
      while (measured.length < (isQuick ? 2 : minutes)) {
        const { minute, next } = await runMinute(run, pairs, perSecond);
        measured.push(minute);
        pairs = next;
      }
      const orders = sum(measured.map(({ postMs }) => postMs.length * ORDERS_PER_REQUEST));
      return [
        state('orders placed, and as many older ones cancelled', 'per s', perSecond * ORDERS_PER_REQUEST),
        ...describe(measured.slice(-edge), measured.slice(0, edge)),
        state('disk of Kafka and Postgres', 'bytes per order', (bytesStored(bench) - stored) / orders),
      ];
    } finally {
      run.load.close();
      run.sender.close();
      await run.steps.stop();
    }
  });
}

function describe(last: readonly Minute[], first: readonly Minute[]): Figure[] {
  const by = (name: string, unit: string, figureOf: (minutes: readonly Minute[]) => number) =>
    compare(`${name}, last minutes by first`, unit, [{ value: figureOf(last), floor: figureOf(first) }], GOAL);
  const latency = (name: string, samplesOf: (minute: Minute) => readonly number[]) =>
    [0.5, 0.99].map((share) =>
      by(`${name}, p${share * 100}`, 'ms', (minutes) => percentile(minutes.flatMap(samplesOf), share)),
    );
  return [
    ...latency(`POST of ${ORDERS_PER_REQUEST}`, ({ postMs }) => postMs),
    ...latency(`DELETE of ${ORDERS_PER_REQUEST}`, ({ cancelMs }) => cancelMs),
    ...latency('POST to ACTIVE, as the projector publishes it', ({ activeMs }) => activeMs),
    ...[...(first[0]?.memoryMb.keys() ?? [])].map((name) =>
      by(
        `PSS of ${name}`,
        'MB',
        (minutes) => sum(minutes.map(({ memoryMb }) => memoryMb.get(name) ?? 0)) / minutes.length,
      ),
    ),
  ];
}

/** Pairs of requests per second that the stack answers when as many wait as it can take. */
async function saturate({ bench, load, nextPair }: Run, pairs: number): Promise<number> {
  const send = (count: number) =>
    load.send(bench.portOf('ingress'), requestsOf(pairsOf(count, nextPair)), { atOnce: AT_ONCE });
  // With as many open orders as later on.
  await send(OPEN_REQUESTS + pairs / 5);
  return pairs / (await send(pairs)).seconds;
}

/** Sends the pairs at their pace. Meanwhile one order after the other is followed to the book, and as many pairs are signed. */
async function runMinute(
  run: Run,
  pairs: readonly Pair[],
  perSecond: number,
): Promise<{ minute: Minute; next: Pair[] }> {
  const { bench, load, nextPair } = run;
  let isDone = false;
  const sending = load.send(bench.portOf('ingress'), requestsOf(pairs), { perSecond: 2 * perSecond }).finally(() => {
    isDone = true;
  });
  sending.catch(() => undefined);
  const activeMs: number[] = [];
  const next: Pair[] = [];
  while (!isDone) {
    const startedAtMs = performance.now();
    activeMs.push(await followOrder(run));
    next.push(...pairsOf(Math.min(pairs.length - next.length, perSecond), nextPair));
    await pause(Math.max(0, SAMPLE_MS - (performance.now() - startedAtMs)));
  }
  const { latencyMs } = await sending;
  next.push(...pairsOf(pairs.length - next.length, nextPair));
  const minute: Minute = {
    postMs: latencyMs.filter((_, index) => index % 2 === 0),
    cancelMs: latencyMs.filter((_, index) => index % 2 === 1),
    activeMs,
    memoryMb: new Map(bench.stack.processes().map(({ name, pid }) => [name, readMemory(pid).pssMb])),
  };
  return { minute, next };
}

/**
 * Milliseconds from a POST until the projector publishes ACTIVE, by its own stamp: this process signs, and so reads late.
 * The order is cancelled then.
 */
async function followOrder({ bench, steps, sender, maker }: Run): Promise<number> {
  const order = bench.signOrder(maker);
  const { publishedMs } = await samplePost({ bench, steps, sender }, maker, order);
  await sender.send(bench.signCancel(maker, order));
  return publishedMs;
}

/** POSTs of one maker after the other; each is paired with the DELETE of the oldest orders that are open. */
function createPairs(bench: Bench, makers: readonly BenchMaker[]): () => Pair {
  const open: { readonly maker: BenchMaker; readonly orders: readonly BenchOrder[] }[] = [];
  let turn = 0;
  return () => {
    const maker = makers[turn % makers.length];
    if (maker === undefined) throw new Error('there is no maker');
    turn += 1;
    const orders = Array.from({ length: ORDERS_PER_REQUEST }, () => bench.signOrder(maker));
    open.push({ maker, orders });
    const oldest = open.length > OPEN_REQUESTS ? open.shift() : undefined;
    const post = { method: 'POST' as const, path: paths.limitOrders, body: bodyOf(orders) };
    return { post, cancel: oldest && bench.signCancel(oldest.maker, ...oldest.orders) };
  };
}

function pairsOf(count: number, nextPair: () => Pair): Pair[] {
  return Array.from({ length: Math.max(0, Math.ceil(count)) }, nextPair);
}

function requestsOf(pairs: readonly Pair[]): BenchRequest[] {
  return pairs.flatMap(({ post, cancel }) => (cancel === undefined ? [post] : [post, cancel]));
}

/** Of log, feeds and read model. What Postgres keeps for a crash comes and goes. */
function bytesStored({ stack }: Bench): number {
  const records = bytesUnder(join(stack.folder, 'kafka'), (path) => path.endsWith('.log'));
  return records + bytesUnder(join(stack.folder, 'postgres', 'base'));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
