import { setTimeout as pause } from 'node:timers/promises';
import { type LoadGenerator, openLoadGenerator } from '../kit/generate-load.js';
import { type MakerKey, type OrderToPost, postOf } from '../kit/sign-orders.js';
import { median } from '../kit/summarise.js';
import {
  type Contender,
  createRounds,
  inTurn,
  measureRequests,
  type Rounds,
  withVariants,
} from './compare-services.js';
import { followSteps, type Steps } from './follow-steps.js';
import { createVerifying } from './measure-verify.js';
import { type Bench, withBench } from './open-bench.js';
import { itemAt } from './place-orders.js';
import { type BenchOptions, compare, type Figure, state } from './report.js';
import { openFloor } from './serve-floor.js';

const MAKERS = 20;
const ORDERS_EACH = 1_000;
const VERIFIED_ORDERS = 500;
const SETTLE_MS = 10_000;
const IDLE_MS = 20_000;
const INGRESS = 'ingress';
const CANCELS = 'ingress cancels';
const FLOOR = 'express';
const PER_ORDER = 'µs of CPU per order';

const kinds = [
  { perRequest: 100, requests: 50, atOnce: 4 },
  { perRequest: 1, requests: 2000, atOnce: 64 },
] as const;
type Kind = (typeof kinds)[number];

interface Parts {
  readonly bench: Bench;
  readonly ingress: Contender;
  readonly floor: Contender;
  readonly steps: Steps;
  readonly load: LoadGenerator;
  readonly makers: readonly MakerKey[];
  readonly rounds: number;
}

/**
 * What an order costs that is placed and cancelled: CPU of ingress against verifying the order, and against an express app that
 * parses, verifies and appends; and CPU of every process of the stack, also with nothing to do.
 */
export async function benchPost({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const rounds = isQuick ? 1 : 10;
  return withBench(async (bench) => {
    await pause(SETTLE_MS);
    const idle = await measureIdle(() => cpuOf(bench), isQuick ? IDLE_MS / 4 : IDLE_MS);
    const ofOrders = await withVariants(bench, 'ingress', [{ name: INGRESS }], async ([ingress]) => {
      if (ingress === undefined) throw new Error('ingress is started');
      const makers = await bench.openMakers(MAKERS, ORDERS_EACH);
      const steps = await followSteps(bench.stack);
      const load = openLoadGenerator();
      const floor = await openFloor({
        kafkaBrokers: bench.stack.addresses.kafkaBrokers,
        topic: 'bench-floor',
        partitions: Number(bench.stack.operatorEnvironment['PARTITIONS']),
        domain: bench.domain,
        bytes: 0,
      });
      const parts: Parts = { bench, ingress, floor, steps, load, makers, rounds };
      const figures: Figure[] = [];
      for (const kind of kinds) figures.push(...(await measure(parts, kind)));
      load.close();
      await floor.stop();
      await steps.stop();
      return figures;
    });
    return [...ofOrders, state('idle stack: all processes', 'ms of CPU per s', idle, { valueMax: 60 })];
  });
}

/** One kind of requests, in so many rounds after one to warm up: each order is placed, and cancelled when it is ACTIVE. */
async function measure(parts: Parts, kind: Kind): Promise<readonly Figure[]> {
  const { bench, ingress, floor, load, rounds } = parts;
  const measureVerifying = createVerifying(bench.domain, signOrders(parts, VERIFIED_ORDERS, 1).flat());
  const taken = createRounds();
  const ofStack: number[] = [];
  const idle = await measureIdle(() => cpuOf(bench, INGRESS), IDLE_MS / 4);
  for (let round = 0; round <= rounds; round += 1) {
    const us = new Map<string, number>(Object.entries(await measureVerifying()));
    for (const contender of inTurn([ingress, floor], round)) {
      if (contender === floor) {
        const posts = signOrders(parts, kind.requests, kind.perRequest).map(postOf);
        us.set(FLOOR, (await measureRequests(load, floor, posts, kind.atOnce)) / kind.perRequest);
        continue;
      }
      const { post, cancel, stack } = await placeAndCancel(parts, kind, idle);
      us.set(INGRESS, post).set(CANCELS, cancel);
      if (round > 0) ofStack.push(stack);
    }
    // The first round warms up.
    if (round > 0) for (const [name, value] of us) taken.add(name, value);
  }
  return describe(kind, taken, ofStack);
}

/**
 * @param idle what the stack takes by itself, without its own ingress: that has nothing to do, for requests go to one beside it
 * @returns CPU of the ingress for each order, of the POST and of the DELETE; and of all processes for both
 */
async function placeAndCancel(parts: Parts, kind: Kind, idle: number) {
  const { bench, ingress, load, steps } = parts;
  const { perRequest, requests, atOnce } = kind;
  const count = perRequest * requests;
  const orders = signOrders(parts, requests, perRequest);
  const cancels = orders.map((some, n) => bench.signCancel(itemAt(parts.makers, n), ...some));
  const [active, gone] = [steps.count('ACTIVE'), steps.count('GONE')];
  const [before, startedAtMs] = [cpuOf(bench, INGRESS), performance.now()];
  const post = (await measureRequests(load, ingress, orders.map(postOf), atOnce)) / perRequest;
  await steps.untilCount('ACTIVE', active + count);
  const cancel = (await measureRequests(load, ingress, cancels, atOnce)) / perRequest;
  await steps.untilCount('GONE', gone + count);
  const tookMs = performance.now() - startedAtMs;
  const others = (cpuOf(bench, INGRESS) - before - idle * tookMs) / count;
  return { post, cancel, stack: post + cancel + others };
}

/** Orders of the makers in turn, those of one request of one maker. */
function signOrders(parts: Parts, requests: number, perRequest: number): OrderToPost[][] {
  return Array.from({ length: requests }, (_, n) =>
    Array.from({ length: perRequest }, () => parts.bench.signOrder(itemAt(parts.makers, n))),
  );
}

/** Milliseconds of CPU for each second in which nothing is asked of the stack, which are microseconds for each millisecond. */
async function measureIdle(cpu: () => number, forMs: number): Promise<number> {
  const before = cpu();
  await pause(forMs);
  return (cpu() - before) / forMs;
}

/** CPU of all processes of the stack since its start, but of one. */
function cpuOf(bench: Bench, without?: string): number {
  return [...bench.cpu()].reduce((sum, [name, used]) => sum + (name === without ? 0 : used), 0);
}

function describe({ perRequest }: Kind, taken: Rounds, ofStack: readonly number[]): readonly Figure[] {
  const by = (name: string, floor: string) => taken.compare(name, floor);
  const [post, cancel] = [`POST of ${perRequest}: ingress`, `DELETE of ${perRequest}: ingress`];
  if (perRequest === 1) {
    return [
      compare(`${post}, by express with verify and append`, PER_ORDER, by(INGRESS, FLOOR), { ratioMax: 1.6 }),
      state('an order placed by itself and cancelled: all processes', PER_ORDER, median(ofStack), { valueMax: 1_400 }),
    ];
  }
  return [
    compare(`${post}, by verify`, PER_ORDER, by(INGRESS, 'verify'), { ratioMax: 1.6 }),
    compare(`${cancel}, by verify`, PER_ORDER, by(CANCELS, 'verify'), { ratioMax: 1.5 }),
    compare('verify, by one recovery and four keccaks', PER_ORDER, by('verify', 'recover'), { ratioMax: 1.25 }),
  ];
}
