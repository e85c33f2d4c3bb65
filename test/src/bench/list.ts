import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { paths } from '@makerbook/contracts-http';
import { findFreePort, startRedis } from '@makerbook/parts';
import { followFeeds } from './follow-feeds.js';
import { type Bench, withBench } from './open-bench.js';
import { openSender, type Sender } from './send-requests.js';
import { type BenchMaker, bodyOf } from './sign-orders.js';
import { describeLatency, median, printTable, round } from './summarise.js';

const ORDERS = 1000;
const AT_ONCE = 4;
const REQUESTS_PER_ROUND = 200;

/** CPU per GET of a list of 1,000 orders: from Redis, and from Postgres while Redis is gone. */
export async function benchList(isQuick: boolean): Promise<void> {
  const rounds = isQuick ? 1 : 10;
  const folder = mkdtempSync(join(tmpdir(), 'makerbook-bench-'));
  // A Redis that nobody starts again when it has gone.
  const redis = await startRedis({ dataDir: join(folder, 'redis'), port: await findFreePort() });
  const measure = async (bench: Bench) => {
    const [maker] = await bench.openMakers(1, ORDERS);
    if (maker === undefined) throw new Error('there is no maker');
    await placeOrders(bench, maker);
    const sender = openSender(bench.portOf('query'));
    const fromRedis = await measureRounds(bench, { sender, maker, rounds });
    await redis.stop();
    const fromPostgres = await measureRounds(bench, { sender, maker, rounds });
    sender.close();
    printTable(
      `GET of ${ORDERS} orders, sent to query itself, ${AT_ONCE} at once, signed beforehand; CPU of query from /proc, median of ${rounds} rounds of ${REQUESTS_PER_ROUND} after one to warm up.`,
      { 'from Redis': fromRedis, 'from Postgres, Redis gone': fromPostgres },
    );
  };
  try {
    await withBench(measure, { REDIS_URL: redis.url });
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
  while (feeds.activeCount() < ORDERS) await pause(50);
  await feeds.stop();
}

async function measureRounds(
  bench: Bench,
  { sender, maker, rounds }: { sender: Sender; maker: BenchMaker; rounds: number },
): Promise<object> {
  const latencyMs: number[] = [];
  const usPerRequest: number[] = [];
  for (let count = 0; count <= rounds; count += 1) {
    const requests = Array.from({ length: REQUESTS_PER_ROUND }, () => bench.signList(maker));
    const before = bench.cpu().get('query') ?? 0;
    const tookMs = await sender.sendAll(requests, AT_ONCE);
    const used = (bench.cpu().get('query') ?? 0) - before;
    if (count === 0) continue;
    latencyMs.push(...tookMs);
    usPerRequest.push(used / REQUESTS_PER_ROUND);
  }
  return { 'query, µs per GET': round(median(usPerRequest)), ...describeLatency(latencyMs) };
}
