import { type LoadGenerator, openLoadGenerator } from '../kit/generate-load.js';
import type { MakerKey } from '../kit/sign-orders.js';
import { type Contender, createRounds, inTurn, measureRequests, withBefore, withVariants } from './compare-services.js';
import { type Bench, withBench } from './open-bench.js';
import { placeOrders } from './place-orders.js';
import { type BenchOptions, compare, type Figure } from './report.js';
import { openFloor } from './serve-floor.js';

const MAKERS = 20;
const AT_ONCE = 4;
const QUERY = 'query';
const COLD = 'without Redis';
const FLOOR = 'express';
/** Nothing listens there. */
const NO_REDIS = 'redis://127.0.0.1:1';

const sizes = [
  { orders: 100, requests: 1000 },
  { orders: 1000, requests: 1000 },
] as const;
type Size = (typeof sizes)[number];

interface Parts {
  readonly bench: Bench;
  readonly load: LoadGenerator;
  readonly services: readonly Contender[];
  readonly rounds: number;
}

/**
 * CPU of query per GET of the lists of several makers: from Redis against an express app that recovers a signer and sends as many
 * bytes, and from Postgres, where Redis is gone, against that from Redis.
 */
export async function benchList({ isQuick, against }: BenchOptions): Promise<readonly Figure[]> {
  const variants = [...withBefore(QUERY, against), { name: COLD, settings: { REDIS_URL: NO_REDIS } }];
  return withBench((bench) =>
    withVariants(bench, 'query', variants, async (services) => {
      const load = openLoadGenerator();
      const figures: Figure[] = [];
      for (const size of sizes) {
        figures.push(...(await measure({ bench, load, services, rounds: isQuick ? 2 : 10 }, size)));
      }
      load.close();
      return figures;
    }),
  );
}

async function measure({ bench, load, services, rounds }: Parts, size: Size): Promise<readonly Figure[]> {
  const makers = await bench.openMakers(MAKERS, size.orders);
  await placeOrders(bench, load, makers, size.orders);
  const sign = (count: number) =>
    Array.from({ length: count }, (_, index) => bench.signList(makers[index % MAKERS] as MakerKey));
  const { addresses } = bench.stack;
  const floor = await openFloor({
    kafkaBrokers: addresses.kafkaBrokers,
    topic: 'bench-floor',
    partitions: 1,
    domain: bench.domain,
    bytes: await sizeOf(bench, sign(1)[0]?.path ?? ''),
  });
  const taken = createRounds();
  for (let round = 0; round <= rounds; round += 1) {
    for (const contender of inTurn([...services, floor], round)) {
      // Signed here, for they are good for half a minute.
      const us = await measureRequests(load, contender, sign(size.requests), AT_ONCE);
      // The first round warms up.
      if (round > 0) taken.add(contender.name, us);
    }
  }
  await floor.stop();
  const get = `GET of ${size.orders}`;
  const unit = 'µs of CPU';
  return [
    compare(`${get}: query, by express`, unit, taken.compare(QUERY, FLOOR), { ratioMax: 1.5 }),
    compare(`${get}: query without Redis, by query`, unit, taken.compare(COLD, QUERY), { ratioMax: 5 }),
    ...services
      .filter(({ name }) => name === 'before')
      .map(({ name }) => compare(`${get}: query, by ${name}`, unit, taken.compare(QUERY, name))),
  ];
}

/** Bytes of the list that the request is answered with. */
async function sizeOf(bench: Bench, path: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${bench.portOf('query')}${path}`);
  return (await response.arrayBuffer()).byteLength;
}
