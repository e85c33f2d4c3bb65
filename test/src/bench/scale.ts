import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { encodeMakerEvent, topicNames } from '@makerbook/contracts-events';
import { orderToBody } from '@makerbook/domain';
import { type Appender, connectLog, type LogRecord, partitionOf } from '@makerbook/kafka';
import { connectPostgres, type Postgres } from '@makerbook/postgres';
import { silentLogger } from '@makerbook/telemetry';
import { openLoadGenerator } from '../kit/generate-load.js';
import { readPssMb } from '../kit/read-processes.js';
import type { PreparedRequest } from '../kit/send-requests.js';
import { type MakerKey, type OrderToPost, postOf } from '../kit/sign-orders.js';
import { median } from '../kit/summarise.js';
import { followSteps } from './follow-steps.js';
import { measureBookStreams } from './measure-book-streams.js';
import { measureRouter } from './measure-router.js';
import { type Bench, withBench } from './open-bench.js';
import { bytesUnder } from './read-disk.js';
import { type BenchOptions, compare, type Figure, type Goal } from './report.js';

const MAKERS = 1_000;
const ORDERS_PER_MAKER = [10, 1_000];
/** Orders of the maker that is measured, at each size. */
const OWN_ORDERS = 100;
const SAMPLES = 100;
const REQUESTS_PER_SECOND = 10;
const IDLE_MS = 10_000;
const BLOCK_MS = 1_000;
const STRANGERS_TRANSFERS = 20;
const STRANGERS = ['0x00000000000000000000000000000000000057a1', '0x00000000000000000000000000000000000057a2'] as const;
const RECORDS_PER_APPEND = 500;
const READ_MS_MAX = 1_800_000;
const PARTITIONS = 12;
const TIME_GOAL = { ratioMax: 1.2 };
const START_GOAL = { valueMax: 10 };
const WATCHER_GOAL = { valueMax: 800 };

/** One thing that was measured at one size. */
type Measured = Pick<Figure, 'name' | 'unit' | 'value'> & { readonly goal?: Goal | undefined };

interface Scaled {
  readonly bench: Bench;
  readonly postgres: Postgres;
  readonly appender: Appender;
  readonly own: MakerKey;
  readonly others: readonly MakerKey[];
}

/**
 * Measures the whole stack with more and more open orders of a thousand makers: a POST, a GET and a block of one maker
 * that stays as it is, memory, disk and starts. Compares each with the same for the fewest orders.
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
      const sizes: Size[] = [];
      let before = 0;
      for (const each of ORDERS_PER_MAKER) {
        await submit(scaled, others, each - before);
        before = each;
        await untilRead(scaled, makers * each + OWN_ORDERS);
        sizes.push({ orders: makers * each, measured: await measure(scaled) });
      }
      const { pid } = bench.stack.processOf('feed');
      const streams = await measureBookStreams({ pid, port: bench.portOf('feed') });
      return [...describe(sizes), ...streams, ...(await measureRouter(makers * Math.max(...ORDERS_PER_MAKER)))];
    } finally {
      await log.close();
      await postgres.close();
    }
  });
}

interface Size {
  readonly orders: number;
  readonly measured: readonly Measured[];
}

function describe(sizes: readonly Size[]): Figure[] {
  const [least, ...more] = sizes;
  return more.flatMap(({ orders, measured }) =>
    measured.map(({ name, unit, value, goal }) => {
      const floor = least?.measured.find((each) => each.name === name)?.value ?? Number.NaN;
      const counts = `${orders.toLocaleString('en')} orders, by ${least?.orders.toLocaleString('en')}`;
      return compare(`${name} with ${counts}`, unit, [{ value, floor }], goal);
    }),
  );
}

async function measure(scaled: Scaled): Promise<readonly Measured[]> {
  const { bench } = scaled;
  const measured = [
    ...(await measureRequests(scaled)),
    { name: 'block to book, p50', unit: 'ms', value: await measureBlocks(scaled), goal: TIME_GOAL },
    ...(await measureIdle(bench, 'idle', () => pause(IDLE_MS))),
    ...(await measureIdle(bench, `${STRANGERS_TRANSFERS} transfers of strangers a block`, () => moveStrangers(bench))),
    ...(await measureStorage(scaled)),
  ];
  for (const name of ['projector', 'chain-watcher']) {
    measured.push({ name: `start of ${name}`, unit: 's', value: await measureStart(bench, name), goal: START_GOAL });
  }
  return measured;
}

async function measureRequests({ bench, own }: Scaled): Promise<readonly Measured[]> {
  const load = openLoadGenerator();
  const p50 = async (service: string, requests: readonly PreparedRequest[]) =>
    median((await load.send(bench.portOf(service), requests, { perSecond: REQUESTS_PER_SECOND })).latencyMs);
  const orders = Array.from({ length: SAMPLES }, () => bench.signOrder(own));
  const posts = orders.map((order) => postOf([order]));
  const cancels = orders.map((order) => bench.signCancel(own, order));
  const times = {
    'POST of 1, p50': await p50('ingress', posts),
    'DELETE of 1, p50': await p50('ingress', cancels),
    // Sign now, because requests are good for half a minute.
    [`GET of ${OWN_ORDERS}, p50`]: await p50(
      'query',
      orders.map(() => bench.signList(own)),
    ),
  };
  load.close();
  return Object.entries(times).map(([name, value]) => ({ name, unit: 'ms', value, goal: TIME_GOAL }));
}

/** CPU of projector and chain-watcher while nothing happens to any order. */
async function measureIdle(bench: Bench, what: string, wait: () => Promise<unknown>): Promise<readonly Measured[]> {
  const [before, startedAtMs] = [bench.cpu(), performance.now()];
  await wait();
  const tookMs = performance.now() - startedAtMs;
  const after = bench.cpu();
  return ['projector', 'chain-watcher'].map((name) => {
    const value = ((after.get(name) ?? 0) - (before.get(name) ?? 0)) / tookMs;
    return { name: `${what}: ${name}`, unit: 'ms of CPU per s', value, goal: TIME_GOAL };
  });
}

/** In each block of the stack, transfers the token that all orders sell between two accounts without orders. */
async function moveStrangers({ chain, token }: Bench): Promise<void> {
  const [one, other] = STRANGERS;
  await chain.giveGas(one);
  await chain.send(one, token, 'mint', one, 10n ** 18n);
  let last = '';
  for (let block = 0; block < IDLE_MS / BLOCK_MS; block += 1) {
    for (let n = 0; n < STRANGERS_TRANSFERS; n += 1) last = await chain.send(one, token, 'transfer', other, 1n);
    await pause(BLOCK_MS);
  }
  await chain.blockOf(last);
}

async function measureStorage({ bench, postgres }: Scaled): Promise<readonly Measured[]> {
  const [row] = await postgres.query<{ bytes: string }>('select pg_database_size(current_database())::text as bytes');
  const logBytes = bytesUnder(join(bench.stack.folder, 'kafka'), (path) => path.endsWith('.log'));
  return [
    ...bench.stack.processes().map(({ name, pid }) => {
      const goal = name === 'chain-watcher' ? WATCHER_GOAL : undefined;
      return { name: `PSS of ${name}`, unit: 'MB', value: readPssMb(pid), goal };
    }),
    { name: 'Postgres on disk', unit: 'MB', value: Number(row?.bytes) / 1e6 },
    { name: 'Kafka on disk', unit: 'MB', value: logBytes / 1e6 },
  ];
}

/** Measures from a block that takes or returns the maker's allowance until the book has the order's new status. */
async function measureBlocks({ bench, own }: Scaled): Promise<number> {
  const { chain, token } = bench;
  const steps = await followSteps(bench.stack);
  const order = bench.signOrder(own);
  const active = steps.next(`ACTIVE/${order.orderHash}`);
  const load = openLoadGenerator();
  await load.send(bench.portOf('ingress'), [postOf([order])], { atOnce: 1 });
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

/** Seconds until the service is ready again after SIGTERM, less the pause before the stack starts it. */
async function measureStart(bench: Bench, name: string): Promise<number> {
  const pidOf = () => bench.stack.processes().find((process) => process.name === name)?.pid;
  const before = pidOf();
  bench.stack.signal('SIGTERM', name);
  while (pidOf() === before) await pause(10);
  const startedAtMs = performance.now();
  await bench.stack.ready();
  return (performance.now() - startedAtMs) / 1000;
}

/** Appends orders to the log directly, as ingress would. */
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

/** Waits until each order is read on the chain and stored as ACTIVE. */
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
