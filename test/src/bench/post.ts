import { setTimeout as pause } from 'node:timers/promises';
import { type LoadGenerator, openLoadGenerator } from '../kit/generate-load.js';
import type { OrderToPost } from '../kit/sign-orders.js';
import { median } from '../kit/summarise.js';
import {
  type Contender,
  createRounds,
  inTurn,
  measureRequests,
  type Rounds,
  withBefore,
  withVariants,
} from './compare-services.js';
import { type Feeds, followFeeds, untilCount } from './follow-feeds.js';
import { createStages } from './measure-stages.js';
import { type Bench, withBench } from './open-bench.js';
import { openOrders, postOf } from './place-orders.js';
import { type BenchOptions, compare, type Figure, state } from './report.js';
import { openFloor } from './serve-floor.js';

const STAGED_ORDERS = 500;
const IDLE_MS = 5_000;
const INGRESS = 'ingress';
const FLOOR = 'express';

const kinds = [
  { perRequest: 100, requests: 50, atOnce: 4 },
  { perRequest: 1, requests: 2000, atOnce: 64 },
] as const;
type Kind = (typeof kinds)[number];

/**
 * CPU of ingress per order of a POST: of 100 orders against verifying one, of 1 order against an express app that parses, verifies
 * and appends. Beside it what every other process takes for an order.
 */
export async function benchPost({ isQuick, against }: BenchOptions): Promise<readonly Figure[]> {
  const rounds = isQuick ? 1 : 10;
  return withBench((bench) =>
    withVariants(bench, 'ingress', withBefore(INGRESS, against), async (services) => {
      const perRound = kinds.reduce((sum, { perRequest, requests }) => sum + perRequest * requests, 0);
      const nextOrders = await openOrders(bench, (rounds + 1) * (services.length + 1) * perRound);
      const feeds = await followFeeds(bench.stack);
      const load = openLoadGenerator();
      const { addresses } = bench.stack;
      const floor = await openFloor({
        kafkaBrokers: addresses.kafkaBrokers,
        topic: 'bench-floor',
        partitions: Number(bench.serviceEnvironment['PARTITIONS']),
        domain: bench.domain,
        bytes: 0,
      });
      const run = createRunner(bench, { services, floor, feeds, load, nextOrders });
      const figures: Figure[] = [];
      for (const kind of kinds) figures.push(...(await run(kind, rounds)));
      load.close();
      await floor.stop();
      await feeds.stop();
      return figures;
    }),
  );
}

interface RunnerParts {
  readonly services: readonly Contender[];
  readonly floor: Contender;
  readonly feeds: Feeds;
  readonly load: LoadGenerator;
  readonly nextOrders: (count: number) => OrderToPost[];
}

/** Makes the function that measures one kind of request, in so many rounds after one to warm up. */
function createRunner(bench: Bench, { services, floor, feeds, load, nextOrders }: RunnerParts) {
  const measureStages = createStages(bench.domain, nextOrders(STAGED_ORDERS));
  let placed = 0;
  return async (kind: Kind, rounds: number): Promise<readonly Figure[]> => {
    const { perRequest, requests, atOnce } = kind;
    const orders = perRequest * requests;
    const ofIngress = createRounds();
    const ofOthers = createRounds();
    const idle = await measureIdle(bench);
    for (let round = 0; round <= rounds; round += 1) {
      const taken = new Map<string, number>(Object.entries(await measureStages()));
      for (const contender of inTurn([...services, floor], round)) {
        const ready = Array.from({ length: requests }, () => postOf(nextOrders(perRequest)));
        const before = bench.cpu();
        const startedAt = performance.now();
        taken.set(contender.name, (await measureRequests(load, contender, ready, atOnce)) / perRequest);
        if (contender === floor) continue;
        placed += orders;
        await untilCount(feeds, 'ACTIVE', placed);
        if (round === 0 || contender.name !== INGRESS) continue;
        const tookMs = performance.now() - startedAt;
        for (const [name, used] of bench.cpu()) {
          const idleUs = (idle.get(name) ?? 0) * tookMs;
          ofOthers.add(name, (used - (before.get(name) ?? 0) - idleUs) / orders);
        }
      }
      // The first round warms up.
      if (round > 0) for (const [name, us] of taken) ofIngress.add(name, us);
    }
    return describe(kind, ofIngress, ofOthers, [...idle.keys()]);
  };
}

/** CPU in microseconds for each millisecond in which nothing is asked of the stack. */
async function measureIdle(bench: Bench): Promise<ReadonlyMap<string, number>> {
  const before = bench.cpu();
  await pause(IDLE_MS);
  return new Map([...bench.cpu()].map(([name, used]) => [name, (used - (before.get(name) ?? 0)) / IDLE_MS]));
}

function describe(
  { perRequest, atOnce }: Kind,
  ofIngress: Rounds,
  ofOthers: Rounds,
  others: readonly string[],
): readonly Figure[] {
  const post = `POST of ${perRequest}, ${atOnce} at once`;
  const unit = 'µs of CPU per order';
  const goal = { ratioMax: 1.5 };
  const byVerify = ofIngress.compare(INGRESS, 'verify');
  const byFloor = ofIngress.compare(INGRESS, FLOOR);
  return [
    ...(perRequest === 1
      ? [compare(`${post}: ingress, by express`, unit, byFloor, goal)]
      : [
          compare(`${post}: ingress, by verify`, unit, byVerify, goal),
          ...(['parse', 'verify', 'describe'] as const).map((stage) =>
            compare(`${post}: ${stage}, by ingress`, unit, ofIngress.compare(stage, INGRESS)),
          ),
        ]),
    ...(ofIngress.of('before').length === 0
      ? []
      : [compare(`${post}: ingress, by before`, unit, ofIngress.compare(INGRESS, 'before'))]),
    ...others
      .filter((name) => name !== INGRESS)
      .map((name) => state(`${post}: ${name}`, unit, median(ofOthers.of(name)))),
  ];
}
