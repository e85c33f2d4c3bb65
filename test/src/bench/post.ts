import { setTimeout as pause } from 'node:timers/promises';
import { hexToBytes } from '@makerbook/contracts-evm';
import { paths } from '@makerbook/contracts-http';
import { type Feeds, followFeeds, untilActive } from './follow-feeds.js';
import { type LoadGenerator, openLoadGenerator } from './generate-load.js';
import { createNativeLimit, measureCpu } from './native-limit.js';
import { type Bench, withBench } from './open-bench.js';
import { type BenchOptions, compare, type Figure, state } from './report.js';
import type { BenchRequest } from './send-requests.js';
import { type BenchMaker, bodyOf } from './sign-orders.js';
import { median } from './summarise.js';

/** Open orders that a maker may have. */
const ORDERS_PER_MAKER = 1000;
const NATIVE_ORDERS = 1000;
const IDLE_MS = 5_000;

const kinds = [
  { name: '100 orders', perRequest: 100, requests: 50, atOnce: 4 },
  { name: '1 order', perRequest: 1, requests: 1500, atOnce: 16 },
] as const;
type Kind = (typeof kinds)[number];

interface Round {
  readonly orders: number;
  readonly seconds: number;
  readonly nativeUs: number;
  /** CPU per order, by process; what it takes when idle is taken off. */
  readonly usPerOrder: ReadonlyMap<string, number>;
}

/** CPU per order of POST, of ingress and of everything behind it, against the native limit measured in between. */
export async function benchPost({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const rounds = isQuick ? 1 : 5;
  const perRound = kinds.reduce((sum, { perRequest, requests }) => sum + perRequest * requests, 0);
  return withBench(async (bench) => {
    const makers = await bench.openMakers(
      Math.ceil(((rounds + 1) * perRound) / ORDERS_PER_MAKER) + 1,
      ORDERS_PER_MAKER,
    );
    const feeds = await followFeeds(bench.stack, { withFacts: false });
    const load = openLoadGenerator();
    const runner = createRunner(bench, { feeds, load, makers, idle: await measureIdle(bench) });
    for (const kind of kinds) await runner(kind);
    const measured = new Map<Kind, Round[]>(kinds.map((kind) => [kind, []]));
    for (let count = 0; count < rounds; count += 1) {
      for (const kind of kinds) measured.get(kind)?.push(await runner(kind));
    }
    load.close();
    await feeds.stop();
    return report(measured);
  });
}

interface RunnerParts {
  readonly feeds: Feeds;
  readonly load: LoadGenerator;
  readonly makers: readonly BenchMaker[];
  readonly idle: ReadonlyMap<string, number>;
}

/** Makes the function that runs a round: signs, sends, and waits until the feed says that all orders can be filled. */
function createRunner(bench: Bench, { feeds, load, makers, idle }: RunnerParts): (kind: Kind) => Promise<Round> {
  let placed = 0;
  const sign = (perRequest: number) => {
    // The orders of a request are one maker's; a maker is full after a thousand.
    const maker = makers[Math.floor((placed + perRequest - 1) / ORDERS_PER_MAKER)];
    if (maker === undefined) throw new Error('the bench has too few makers');
    placed += perRequest;
    return Array.from({ length: perRequest }, () => bench.signOrder(maker));
  };
  const sample = Array.from({ length: NATIVE_ORDERS }, () => bench.signOrder(makers[0] as BenchMaker));
  const verifyNatively = createNativeLimit(sample, ({ orderHash }) => hexToBytes(orderHash));

  return async ({ perRequest, requests, atOnce }) => {
    const ready = Array.from(
      { length: requests },
      (): BenchRequest => ({ method: 'POST', path: paths.limitOrders, body: bodyOf(sign(perRequest)) }),
    );
    const orders = perRequest * requests;
    const activeBefore = feeds.activeCount();
    const nativeBefore = measureCpu(verifyNatively);
    const before = bench.cpu();
    const startedAt = performance.now();
    const { seconds } = await load.send(bench.portOf('ingress'), ready, { atOnce });
    const sentAt = performance.now();
    const sent = bench.cpu();
    const nativeUs = (nativeBefore + measureCpu(verifyNatively)) / 2 / NATIVE_ORDERS;
    await untilActive(feeds, activeBefore + orders);
    const drainedAt = performance.now();
    const drained = bench.cpu();

    const usPerOrder = new Map<string, number>();
    for (const [name, start] of before) {
      // What ingress does ends with its answers.
      const [end, endedAt] = name === 'ingress' ? [sent, sentAt] : [drained, drainedAt];
      const idleUs = (idle.get(name) ?? 0) * (endedAt - startedAt);
      usPerOrder.set(name, ((end.get(name) ?? start) - start - idleUs) / orders);
    }
    return { orders, seconds, nativeUs, usPerOrder };
  };
}

/** CPU in microseconds for each millisecond in which nothing is asked of the stack. */
async function measureIdle(bench: Bench): Promise<ReadonlyMap<string, number>> {
  const before = bench.cpu();
  await pause(IDLE_MS);
  return new Map([...bench.cpu()].map(([name, used]) => [name, (used - (before.get(name) ?? 0)) / IDLE_MS]));
}

function report(measured: ReadonlyMap<Kind, readonly Round[]>): readonly Figure[] {
  return [...measured].flatMap(([{ name, atOnce }, runs]) => {
    const of = (process: string) => runs.map(({ usPerOrder }) => usPerOrder.get(process) ?? Number.NaN);
    const others = [...(runs[0]?.usPerOrder.keys() ?? [])].filter((process) => process !== 'ingress');
    const ingress = runs.map(({ nativeUs }, round) => ({ value: of('ingress')[round] ?? Number.NaN, floor: nativeUs }));
    return [
      compare(`POST of ${name}: ingress, by the native limit`, 'µs of CPU per order', ingress),
      ...others.map((process) => state(`POST of ${name}: ${process}`, 'µs of CPU per order', median(of(process)))),
      state(
        `POST of ${name}, ${atOnce} at once`,
        'orders per s',
        median(runs.map(({ orders, seconds }) => orders / seconds)),
      ),
    ];
  });
}
