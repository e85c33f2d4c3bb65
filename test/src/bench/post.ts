import { join } from 'node:path';
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
import { bytesUnder } from './read-disk.js';
import { type BenchOptions, compare, type Figure, state } from './report.js';
import { openFloor } from './serve-floor.js';

const MAKERS = 20;
const ORDERS_EACH = 1_000;
const VERIFIED_ORDERS = 500;
const SETTLE_MS = 10_000;
const IDLE_MS = 20_000;
const DAY_MS = 24 * 60 * 60 * 1000;
const INGRESS = 'ingress';
const FLOOR = 'express';
const PER_ORDER = 'µs of CPU per order';

const kinds = [
  { perRequest: 100, requests: 50, atOnce: 4 },
  { perRequest: 1, requests: 2000, atOnce: 64 },
] as const;
type Kind = (typeof kinds)[number];

/** CPU of each process of the stack, keyed by name. */
type ByProcess = ReadonlyMap<string, number>;

interface Parts {
  readonly bench: Bench;
  readonly services: readonly Contender[];
  readonly floor: Contender;
  readonly steps: Steps;
  readonly load: LoadGenerator;
  readonly makers: readonly MakerKey[];
  readonly rounds: number;
}

/**
 * Measures what it costs to place and cancel an order: CPU of ingress, compared with verifying the order and with an
 * express app that parses, verifies and appends. Also measures CPU of every process of the stack, busy and idle.
 */
export async function benchPost({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const rounds = isQuick ? 1 : 10;
  return withBench(async (bench) => {
    await pause(SETTLE_MS);
    const idleMs = isQuick ? IDLE_MS / 4 : IDLE_MS;
    const logged = bytesOfLog(bench);
    const idle = await measureIdle(bench, idleMs);
    const perDay = ((bytesOfLog(bench) - logged) * DAY_MS) / idleMs;
    const ofDay = state('log of an idle day', 'MB', perDay / 1e6, { valueMax: 290 });
    const ofOrders = await withVariants(bench, 'ingress', [{ name: INGRESS }], async (services) => {
      const makers = await bench.openMakers(MAKERS, ORDERS_EACH);
      const steps = await followSteps(bench.stack, { withLog: false });
      const load = openLoadGenerator();
      const floor = await openFloor({
        kafkaBrokers: bench.stack.addresses.kafkaBrokers,
        topic: 'bench-floor',
        partitions: Number(bench.serviceEnvironment['PARTITIONS']),
        domain: bench.domain,
        bytes: 0,
      });
      const parts: Parts = { bench, services, floor, steps, load, makers, rounds };
      const figures: Figure[] = [];
      for (const kind of kinds) figures.push(...(await measure(parts, kind)));
      load.close();
      await floor.stop();
      await steps.stop();
      return figures;
    });
    return [...ofOrders, ...describeProcesses('idle stack', 'ms of CPU per s', [idle], 95), ofDay];
  });
}

/** Measures one kind of requests in rounds. Each round places orders, and cancels them when they are ACTIVE. */
async function measure(parts: Parts, kind: Kind): Promise<readonly Figure[]> {
  const { bench, services, floor, load, rounds } = parts;
  const measureVerifying = createVerifying(bench.domain, signOrders(parts, VERIFIED_ORDERS, 1).flat());
  const taken = createRounds();
  const ofStack: ByProcess[] = [];
  const idle = await measureIdle(bench, IDLE_MS / 4);
  for (let round = 0; round <= rounds; round += 1) {
    const us = new Map<string, number>(Object.entries(await measureVerifying()));
    for (const contender of inTurn([...services, floor], round)) {
      if (contender === floor) {
        const posts = signOrders(parts, kind.requests, kind.perRequest).map(postOf);
        us.set(FLOOR, (await measureRequests(load, floor, posts, kind.atOnce)) / kind.perRequest);
        continue;
      }
      const { post, cancel, stack } = await placeAndCancel(parts, kind, contender, idle);
      us.set(contender.name, post).set(`${contender.name} cancels`, cancel);
      if (round > 0 && contender.name === INGRESS) ofStack.push(stack);
    }
    // The first round warms up.
    if (round > 0) for (const [name, value] of us) taken.add(name, value);
  }
  return describe(kind, taken, ofStack);
}

/** @returns CPU per order: of ingress for the POST and for the DELETE, and of every process for both */
async function placeAndCancel(parts: Parts, kind: Kind, ingress: Contender, idle: ByProcess) {
  const { bench, load, steps } = parts;
  const { perRequest, requests, atOnce } = kind;
  const count = perRequest * requests;
  const orders = signOrders(parts, requests, perRequest);
  const cancels = orders.map((some, n) => bench.signCancel(makerAt(parts, n), ...some));
  const [active, gone] = [steps.count('ACTIVE'), steps.count('GONE')];
  const [before, startedAtMs] = [bench.cpu(), performance.now()];
  const post = (await measureRequests(load, ingress, orders.map(postOf), atOnce)) / perRequest;
  await steps.untilCount('ACTIVE', active + count);
  const cancel = (await measureRequests(load, ingress, cancels, atOnce)) / perRequest;
  await steps.untilCount('GONE', gone + count);
  const tookMs = performance.now() - startedAtMs;
  const stack = new Map<string, number>();
  for (const [name, used] of bench.cpu()) {
    // The stack's own ingress is idle, because requests go to the one beside it.
    const us = used - (before.get(name) ?? 0) - (idle.get(name) ?? 0) * tookMs;
    stack.set(name, name === INGRESS ? post + cancel : us / count);
  }
  return { post, cancel, stack };
}

/** Signs orders of the makers in turn. All orders of a request have one maker. */
function signOrders(parts: Parts, requests: number, perRequest: number): OrderToPost[][] {
  return Array.from({ length: requests }, (_, n) =>
    Array.from({ length: perRequest }, () => parts.bench.signOrder(makerAt(parts, n))),
  );
}

function makerAt({ makers }: Parts, n: number): MakerKey {
  const maker = makers[n % makers.length];
  if (maker === undefined) throw new Error('there is no maker');
  return maker;
}

/** Milliseconds of CPU for each second in which the stack gets no requests. */
async function measureIdle(bench: Bench, forMs: number): Promise<ByProcess> {
  const before = bench.cpu();
  await pause(forMs);
  return new Map([...bench.cpu()].map(([name, used]) => [name, (used - (before.get(name) ?? 0)) / forMs]));
}

function bytesOfLog({ stack }: Bench): number {
  return bytesUnder(join(stack.folder, 'kafka'), (path) => path.includes('maker-events') && path.endsWith('.log'));
}

function describe({ perRequest }: Kind, taken: Rounds, ofStack: readonly ByProcess[]): readonly Figure[] {
  const by = (name: string, floor: string) => taken.compare(name, floor);
  const [post, cancel] = [`POST of ${perRequest}: ingress`, `DELETE of ${perRequest}: ingress`];
  if (perRequest === 1) {
    return [
      compare(`${post}, by express with verify and append`, PER_ORDER, by(INGRESS, FLOOR), { ratioMax: 1.75 }),
      ...describeProcesses('an order placed by itself and cancelled', PER_ORDER, ofStack, 2_000),
    ];
  }
  return [
    compare(`${post}, by verify`, PER_ORDER, by(INGRESS, 'verify'), { ratioMax: 1.6 }),
    compare(`${cancel}, by verify`, PER_ORDER, by(`${INGRESS} cancels`, 'verify'), { ratioMax: 1.5 }),
    compare('verify, by one recovery and four keccaks', PER_ORDER, by('verify', 'recover'), { ratioMax: 1.25 }),
  ];
}

/** A row for all processes together, and one for each. */
function describeProcesses(what: string, unit: string, rounds: readonly ByProcess[], valueMax: number): Figure[] {
  const names = [...(rounds[0]?.keys() ?? [])];
  const sums = rounds.map((round) => [...round.values()].reduce((sum, value) => sum + value, 0));
  return [
    state(`${what}: all processes`, unit, median(sums), { valueMax }),
    ...names.map((name) => state(`${what}: ${name}`, unit, median(rounds.map((round) => round.get(name) ?? 0)))),
  ];
}
