import { setTimeout as pause } from 'node:timers/promises';
import { type LoadGenerator, openLoadGenerator } from '../kit/generate-load.js';
import type { PreparedRequest } from '../kit/send-requests.js';
import { type MakerKey, type OrderToPost, postOf } from '../kit/sign-orders.js';
import {
  type Contender,
  createRounds,
  inTurn,
  measureRequests,
  type Rounds,
  withVariants,
} from './compare-services.js';
import { followSteps } from './follow-steps.js';
import { measureStreams } from './measure-streams.js';
import { type Bench, withBench } from './open-bench.js';
import { placeOrders } from './place-orders.js';
import { type BenchOptions, compare, type Figure } from './report.js';
import { openFloor } from './serve-floor.js';

const MAKERS = 20;
const AT_ONCE = 4;
const QUERY = 'query';
const COLD = 'without Redis';
const FLOOR = 'express';
const CHANGED = 'changed';
/** Orders of each list that are replaced between two GETs, `REPLACED_TIMES` times a round. */
const REPLACED = 20;
const REPLACED_TIMES = 5;
const COMMITTED_MS = 300;
/** Nothing listens at this address. */
const NO_REDIS = 'redis://127.0.0.1:1';

const sizes = [
  { orders: 100, requests: 1000, goal: { ratioMax: 2.5 } },
  { orders: 1000, requests: 1000, goal: { ratioMax: 1.8 } },
] as const;
type Size = (typeof sizes)[number];

interface Parts {
  readonly bench: Bench;
  readonly load: LoadGenerator;
  readonly services: readonly Contender[];
  readonly rounds: number;
}

/**
 * Measures CPU of query per GET of several makers' lists: unchanged, without Redis, and with some orders replaced since
 * the last GET. The floor is an express app that recovers a signer and sends as many bytes. Then measures streams.
 */
export async function benchList({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const variants = [{ name: QUERY }, { name: COLD, settings: { REDIS_URL: NO_REDIS } }];
  return withBench((bench) =>
    withVariants(bench, 'query', variants, async (services) => {
      const load = openLoadGenerator();
      const figures: Figure[] = [];
      for (const size of sizes) {
        figures.push(...(await measure({ bench, load, services, rounds: isQuick ? 2 : 10 }, size)));
      }
      figures.push(...(await measureStreams(bench, load, isQuick ? 200 : 1_000)));
      load.close();
      return figures;
    }),
  );
}

async function measure({ bench, load, services, rounds }: Parts, size: Size): Promise<readonly Figure[]> {
  const makers = await bench.openMakers(MAKERS, size.orders);
  const placed = await placeOrders(bench, load, makers, size.orders);
  const sign = (count: number) =>
    Array.from({ length: count }, (_, index) => bench.signList(makers[index % MAKERS] as MakerKey));
  const floor = await openFloor({
    kafkaBrokers: bench.stack.addresses.kafkaBrokers,
    topic: 'bench-floor',
    partitions: 1,
    domain: bench.domain,
    bytes: await sizeOf(bench, sign(1)[0]?.path ?? ''),
  });
  const query = services.find(({ name }) => name === QUERY);
  if (query === undefined) throw new Error('query is started');
  const taken = createRounds();
  for (let round = 0; round <= rounds; round += 1) {
    const us = new Map<string, number>();
    for (const contender of inTurn([...services, floor], round)) {
      // Sign here, because requests are good for half a minute.
      us.set(contender.name, await measureRequests(load, contender, sign(size.requests), AT_ONCE));
    }
    if (size.orders > REPLACED * REPLACED_TIMES) {
      us.set(CHANGED, await measureChanged(bench, load, query, { placed, lists: () => sign(MAKERS) }));
    }
    // The first round warms up.
    if (round > 0) for (const [name, value] of us) taken.add(name, value);
  }
  await floor.stop();
  return describe(size, taken);
}

interface Changing {
  readonly placed: Map<MakerKey, OrderToPost[]>;
  /** A GET of each list. */
  readonly lists: () => PreparedRequest[];
}

/** CPU of a GET of each list, each time after some orders of every list were replaced in the rows. */
async function measureChanged(
  bench: Bench,
  load: LoadGenerator,
  query: Contender,
  changing: Changing,
): Promise<number> {
  const { placed, lists } = changing;
  const steps = await followSteps(bench.stack, { withLog: false });
  const ingress = bench.portOf('ingress');
  let us = 0;
  for (let time = 1; time <= REPLACED_TIMES; time += 1) {
    const [cancels, posts]: [PreparedRequest[], PreparedRequest[]] = [[], []];
    for (const [maker, orders] of placed) {
      const added = Array.from({ length: REPLACED }, () => bench.signOrder(maker));
      cancels.push(bench.signCancel(maker, ...orders.splice(0, REPLACED)));
      posts.push(postOf(added));
      orders.push(...added);
    }
    await load.send(ingress, cancels, { atOnce: AT_ONCE });
    await load.send(ingress, posts, { atOnce: AT_ONCE });
    await steps.untilCount('GONE', time * REPLACED * placed.size);
    await steps.untilCount('ACTIVE', time * REPLACED * placed.size);
    // The rows are committed after the feed is published.
    await pause(COMMITTED_MS);
    us += await measureRequests(load, query, lists(), AT_ONCE);
  }
  await steps.stop();
  return us / REPLACED_TIMES;
}

function describe({ orders, goal }: Size, taken: Rounds): readonly Figure[] {
  const row = (name: string, [value, floor]: readonly [string, string], ...goals: Parameters<typeof compare>[3][]) =>
    compare(`GET of ${orders.toLocaleString('en')}${name}`, 'µs of CPU', taken.compare(value, floor), ...goals);
  return [
    row(', by express with a prepared buffer', [QUERY, FLOOR], goal),
    row(' without Redis, by with', [COLD, QUERY], { ratioMax: 1.3 }),
    ...(taken.of(CHANGED).length === 0
      ? []
      : [row(` with ${REPLACED} replaced since the last GET, by unchanged`, [CHANGED, QUERY], { ratioMax: 3 })]),
  ];
}

/** Bytes of the list that answers the request. */
async function sizeOf(bench: Bench, path: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${bench.portOf('query')}${path}`);
  return (await response.arrayBuffer()).byteLength;
}
