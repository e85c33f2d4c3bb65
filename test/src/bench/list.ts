import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { paths } from '@makerbook/contracts-http';
import { findFreePort, startRedis } from '@makerbook/parts';
import { followFeeds, untilActive } from './follow-feeds.js';
import { type LoadGenerator, openLoadGenerator } from './generate-load.js';
import { type Bench, withBench } from './open-bench.js';
import { type BenchOptions, compare, type Figure } from './report.js';
import { openSender } from './send-requests.js';
import { type BenchMaker, bodyOf } from './sign-orders.js';

const ORDERS = 1000;
const AT_ONCE = 4;
const REQUESTS_PER_ROUND = 200;

/** CPU per GET of a list of 1,000 orders: from Redis, and from Postgres while Redis is gone. */
export async function benchList({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const rounds = isQuick ? 1 : 10;
  const folder = mkdtempSync(join(tmpdir(), 'makerbook-bench-'));
  // A Redis that nobody starts again when it has gone.
  const redis = await startRedis({ dataDir: join(folder, 'redis'), port: await findFreePort() });
  const measure = async (bench: Bench) => {
    const [maker] = await bench.openMakers(1, ORDERS);
    if (maker === undefined) throw new Error('there is no maker');
    await placeOrders(bench, maker);
    const load = openLoadGenerator();
    const fromRedis = await measureRounds(bench, { load, maker, rounds });
    await redis.stop();
    const fromPostgres = await measureRounds(bench, { load, maker, rounds });
    load.close();
    const samples = fromPostgres.map((value, round) => ({ value, floor: fromRedis[round] ?? Number.NaN }));
    return [
      compare(`GET of ${ORDERS} orders from Postgres, Redis gone, by that from Redis`, 'µs of CPU', samples, {
        ratioMax: 5,
      }),
    ];
  };
  try {
    return await withBench(measure, { REDIS_URL: redis.url });
  } finally {
    await redis.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function placeOrders(bench: Bench, maker: BenchMaker): Promise<void> {
  const feeds = await followFeeds(bench.stack, { withFacts: false });
  const ingress = openSender(bench.portOf('ingress'));
  for (let placed = 0; placed < ORDERS; placed += 100) {
    const body = bodyOf(Array.from({ length: 100 }, () => bench.signOrder(maker)));
    await ingress.send({ method: 'POST', path: paths.limitOrders, body });
  }
  ingress.close();
  await untilActive(feeds, ORDERS);
  await feeds.stop();
}

/** CPU of query per GET, in each round. */
async function measureRounds(
  bench: Bench,
  { load, maker, rounds }: { load: LoadGenerator; maker: BenchMaker; rounds: number },
): Promise<readonly number[]> {
  const usPerRequest: number[] = [];
  for (let count = 0; count <= rounds; count += 1) {
    const requests = Array.from({ length: REQUESTS_PER_ROUND }, () => bench.signList(maker));
    const before = bench.cpu().get('query') ?? 0;
    await load.send(bench.portOf('query'), requests, { atOnce: AT_ONCE });
    const used = (bench.cpu().get('query') ?? 0) - before;
    // The first round warms up.
    if (count > 0) usPerRequest.push(used / REQUESTS_PER_ROUND);
  }
  return usPerRequest;
}
