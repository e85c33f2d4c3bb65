import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { encodeMakerEvent, topicNames } from '@makerbook/contracts-events';
import { paths } from '@makerbook/contracts-http';
import { orderToBody } from '@makerbook/domain';
import { type Appender, connectLog, type LogRecord, partitionOf } from '@makerbook/kafka';
import { connectPostgres, type Postgres } from '@makerbook/postgres';
import { silentLogger } from '@makerbook/telemetry';
import { openLoadGenerator } from '../kit/generate-load.js';
import { readMemory } from '../kit/read-processes.js';
import { bodyOf, type MakerKey, type OrderToPost } from '../kit/sign-orders.js';
import { median } from '../kit/summarise.js';
import { followSteps } from './follow-steps.js';
import { type Bench, withBench } from './open-bench.js';
import { bytesUnder } from './read-disk.js';
import { type BenchOptions, compare, type Figure, type Goal } from './report.js';

const MAKERS = 1_000;
const ORDERS_PER_MAKER = [10, 100, 1_000];
/** Of the maker that is measured, at each size. */
const OWN_ORDERS = 100;
const SAMPLES = 100;
const REQUESTS_PER_SECOND = 10;
const IDLE_MS = 10_000;
const RECORDS_PER_APPEND = 500;
const READ_MS_MAX = 1_800_000;
const PARTITIONS = 12;
const TIME_GOAL = { ratioMax: 1.2 };
const START_GOAL = { valueMax: 10 };
const WATCHER_GOAL = { valueMax: 800 };

/** What was measured at one size, by name. */
type Measured = ReadonlyMap<
  string,
  { readonly unit: string; readonly value: number; readonly goal?: Goal | undefined }
>;

interface Scaled {
  readonly bench: Bench;
  readonly postgres: Postgres;
  readonly appender: Appender;
  readonly own: MakerKey;
  readonly others: readonly MakerKey[];
}

/**
 * The whole stack with more and more open orders of a thousand makers: a POST, a GET and a block of one maker that stays as it
 * is, memory, disk and starts; each against the same with the fewest orders.
 */
export async function benchScale({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const makers = isQuick ? MAKERS / 20 : MAKERS;
  return withBench(async (bench) => {
    const [own, ...others] = await bench.openMakers(makers + 1, 2 * Math.max(...ORDERS_PER_MAKER));
    if (own === undefined) throw new Error('there is no maker');
    const { kafkaBrokers, databaseUrl } = bench.stack.addresses;
    const log = connectLog({ brokers: kafkaBrokers.split(','), clientId: 'makerbook-bench', logger: silentLogger });
    const postgres = connectPostgres({ url: databaseUrl, statementTimeoutMs: READ_MS_MAX });
    const appender = log.createAppender({ timeoutMs: 60_000 });
    const scaled = { bench, postgres, appender, own, others };
    try {
      await submit(scaled, [own], OWN_ORDERS);
      const sizes: { readonly orders: number; readonly measured: Measured }[] = [];
      let before = 0;
      for (const each of ORDERS_PER_MAKER) {
        await submit(scaled, others, each - before);
        before = each;
        await untilRead(scaled, makers * each + OWN_ORDERS);
        sizes.push({ orders: makers * each, measured: await measure(scaled) });
      }
      return describe(sizes);
    } finally {
      await log.close();
      await postgres.close();
    }
  });
}

function describe(sizes: readonly { readonly orders: number; readonly measured: Measured }[]): Figure[] {
  const [least, ...more] = sizes;
  if (least === undefined) return [];
  return more.flatMap(({ orders, measured }) =>
    [...measured].map(([name, { unit, value, goal }]) => {
      const floor = least.measured.get(name)?.value ?? Number.NaN;
      return compare(`${name} with ${orders} orders, by ${least.orders}`, unit, [{ value, floor }], goal);
    }),
  );
}

async function measure(scaled: Scaled): Promise<Measured> {
  const { bench, own } = scaled;
  const measured = new Map<
    string,
    { readonly unit: string; readonly value: number; readonly goal?: Goal | undefined }
  >();
  const note = (name: string, unit: string, value: number, goal?: Goal) => measured.set(name, { unit, value, goal });
  const load = openLoadGenerator();
  const pace = { perSecond: REQUESTS_PER_SECOND };
  const posted = Array.from({ length: SAMPLES }, () => bench.signOrder(own));
  const posts = posted.map((order) => ({ method: 'POST' as const, path: paths.limitOrders, body: bodyOf([order]) }));
  note('POST of 1, p50', 'ms', median((await load.send(bench.portOf('ingress'), posts, pace)).latencyMs), TIME_GOAL);
  const cancels = posted.map((order) => bench.signCancel(own, order));
  note(
    'DELETE of 1, p50',
    'ms',
    median((await load.send(bench.portOf('ingress'), cancels, pace)).latencyMs),
    TIME_GOAL,
  );
  const lists = Array.from({ length: SAMPLES }, () => bench.signList(own));
  note(
    `GET of ${OWN_ORDERS}, p50`,
    'ms',
    median((await load.send(bench.portOf('query'), lists, pace)).latencyMs),
    TIME_GOAL,
  );
  load.close();
  note('block to book, p50', 'ms', await measureBlocks(scaled), TIME_GOAL);
  const before = bench.cpu();
  await pause(IDLE_MS);
  for (const [name, used] of bench.cpu()) {
    if (name === 'projector' || name === 'chain-watcher') {
      note(`idle ${name}`, 'ms of CPU per s', (used - (before.get(name) ?? 0)) / IDLE_MS, TIME_GOAL);
    }
  }
  for (const { name, pid } of bench.stack.processes()) {
    note(`PSS of ${name}`, 'MB', readMemory(pid).pssMb, name === 'chain-watcher' ? WATCHER_GOAL : undefined);
  }
  const [row] = await scaled.postgres.query<{ bytes: string }>(
    'select pg_database_size(current_database())::text as bytes',
  );
  note('Postgres on disk', 'MB', Number(row?.bytes) / 1e6);
  note('Kafka on disk', 'MB', bytesUnder(join(bench.stack.folder, 'kafka'), (path) => path.endsWith('.log')) / 1e6);
  for (const name of ['projector', 'chain-watcher']) {
    note(`start of ${name}`, 's', await measureStart(bench, name), START_GOAL);
  }
  return measured;
}

/** From the block that takes the maker's tokens, or gives them back, until the book says so of the order posted here. */
async function measureBlocks({ bench, own }: Scaled): Promise<number> {
  const { chain, token } = bench;
  const steps = await followSteps(bench.stack);
  const order = bench.signOrder(own);
  const active = steps.next(`ACTIVE/${order.orderHash}`);
  const load = openLoadGenerator();
  const post = { method: 'POST' as const, path: paths.limitOrders, body: bodyOf([order]) };
  await load.send(bench.portOf('ingress'), [post], { atOnce: 1 });
  await active;
  const tookMs: number[] = [];
  for (let n = 0; n < SAMPLES / 10; n += 1) {
    for (const [status, approved] of [
      ['INACTIVE', 0n],
      ['ACTIVE', 10n ** 30n],
    ] as const) {
      const changed = steps.next(`${status}/${order.orderHash}`);
      const sent = await chain.send(own.address, token, 'approve', bench.domain.verifyingContract, approved);
      await chain.mine();
      const { readAtMs } = await changed;
      tookMs.push(readAtMs - performance.timeOrigin - (await chain.seenAt(await chain.blockOf(sent))));
    }
  }
  await load.send(bench.portOf('ingress'), [bench.signCancel(own, order)], { atOnce: 1 });
  load.close();
  await steps.stop();
  return median(tookMs);
}

/** Seconds from SIGTERM until it is ready again, less the pause before the stack starts it. */
async function measureStart(bench: Bench, name: string): Promise<number> {
  const pidOf = () => bench.stack.processes().find((process) => process.name === name)?.pid;
  const before = pidOf();
  bench.stack.signal('SIGTERM', name);
  while (pidOf() === before) await pause(10);
  const startedAtMs = performance.now();
  await bench.stack.ready();
  return (performance.now() - startedAtMs) / 1000;
}

/** Appends orders to the log itself, as ingress would have: their signatures are nobody's. */
async function submit({ bench, appender }: Scaled, makers: readonly MakerKey[], each: number): Promise<void> {
  const topic = topicNames(bench.stack.topicPrefix).makerEvents;
  for (const maker of makers) {
    for (let left = each; left > 0; left -= RECORDS_PER_APPEND) {
      const records = Array.from({ length: Math.min(left, RECORDS_PER_APPEND) }, () => {
        return recordOf(topic, maker, bench.signOrder(maker));
      });
      await appender.append(records);
    }
  }
}

function recordOf(topic: string, { address }: MakerKey, { order, orderHash, signature }: OrderToPost): LogRecord {
  const acceptedAtMs = Date.now();
  const { key, ...message } = encodeMakerEvent(
    {
      type: 'OrderSubmitted',
      maker: address,
      orderHash,
      order: orderToBody(order),
      signature,
      acceptedAtMs,
      cause: { kind: 'request', requestId: 'bench' },
    },
    { id: orderHash, source: '/makerbook/bench', timeMs: acceptedAtMs },
  );
  return { topic, partition: partitionOf(address, PARTITIONS), key: key ?? '', ...message };
}

/** Waits until each order is read on the chain and stored so. */
async function untilRead({ postgres }: Scaled, orders: number): Promise<void> {
  const deadline = performance.now() + READ_MS_MAX;
  for (;;) {
    const [row] = await postgres.query<{ active: string }>(
      "select count(*)::text as active from orders where status = 'ACTIVE'",
    );
    if (Number(row?.active) >= orders) return;
    if (performance.now() > deadline) throw new Error(`only ${row?.active} of ${orders} orders are ACTIVE`);
    await pause(1_000);
  }
}
