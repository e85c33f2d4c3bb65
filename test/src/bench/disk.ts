import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { topicNames } from '@makerbook/contracts-events';
import type { Log } from '@makerbook/kafka';
import type { Postgres } from '@makerbook/postgres';
import { readMetrics, sumOfMetric } from '../kit/read-metrics.js';
import { readCpu, readMemory } from '../kit/read-processes.js';
import type { Services } from '../kit/run-services.js';
import { deleteRows } from '../kit/save-rows.js';
import { PARTITIONS, withOwnParts } from './open-parts.js';
import { bytesUnder } from './read-disk.js';
import { type BenchOptions, compare, type Figure, state } from './report.js';
import { seedLog, TAIL_BLOCKS } from './seed-log.js';

const ORDERS = 100_000;
const BLOCKS = 10_000;
const SCALE_QUICK = 50;
const PROJECTED_MS_MAX = 1_800_000;
const PROJECTOR = 'projector';
/** As in deploy/k8s. */
const NODE_OPTIONS = '--max-old-space-size=768';
const TOKEN = '0x00000000000000000000000000000000000000c0';

interface Parts {
  readonly log: Log;
  readonly postgres: Postgres;
  readonly services: Services;
  /** Bytes that the partitions of a topic take on the broker's disk. */
  readonly bytesOf: (topic: string) => number;
}

/**
 * One projector on a log of open orders, and on one of blocks: what both take on disk, how fast they are folded for the first
 * time, and how fast again on an empty database, where nothing is published.
 */
export async function benchDisk({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const scale = isQuick ? SCALE_QUICK : 1;
  return withOwnParts(async ({ log, postgres, folder, services }) => {
    const bytesOf = (topic: string) =>
      bytesUnder(join(folder, 'kafka', 'log'), (path) => path.startsWith(`${topic}-`) && path.endsWith('.log'));
    const parts = { log, postgres, bytesOf, services: services({ LOG_LEVEL: 'warn' }) };
    return [
      ...(await measure(parts, 'orders', ORDERS / scale, TAIL_BLOCKS + 1)),
      ...(await measure(parts, 'blocks', 1, BLOCKS / scale)),
    ];
  });
}

async function measure(
  { log, postgres, services, bytesOf }: Parts,
  of: string,
  orders: number,
  blocks: number,
): Promise<readonly Figure[]> {
  const prefix = `bench-${randomBytes(4).toString('hex')}.`;
  const head = { number: 10_000_000, hash: `0x${'f'.repeat(64)}`, timestamp: 1_790_000_000 } as const;
  const holds = { log: true, rows: false };
  const empty = await sizeOf(postgres);
  await seedLog(log, postgres, { orders, blocks, holds, prefix, partitions: PARTITIONS, token: TOKEN, head });
  const topics = topicNames(prefix);
  const facts = Number((await log.endOffsets(topics.makerEvents)).reduce((sum, end) => sum + end, 0n));
  const first = await project(services, prefix, facts);
  const stored = (await sizeOf(postgres)) - empty;
  await deleteRows(postgres);
  const again = await project(services, prefix, facts);
  return [
    state(`a log of ${of}, on the broker's disk`, 'bytes per fact', bytesOf(topics.makerEvents) / facts),
    ...(orders > 1 ? [state(`a log of ${of}, in Postgres`, 'bytes per order', stored / orders)] : []),
    compare(`a log of ${of}, folded and published, by folded again`, 'facts per s', [
      { value: facts / first.seconds, floor: facts / again.seconds },
    ]),
    state(`a log of ${of}, folded again`, 'µs of CPU per fact', again.cpu / facts),
    state(`a log of ${of}: RSS of the projector`, 'MB', again.rssMb),
  ];
}

async function project(services: Services, prefix: string, facts: number) {
  const startedAt = performance.now();
  await services.start(PROJECTOR, 'projector', { TOPIC_PREFIX: prefix, NODE_OPTIONS });
  await services.ready([PROJECTOR]);
  const { pid, opsUrl } = services.processOf(PROJECTOR);
  while (sumOfMetric(await readMetrics(opsUrl), 'projector_facts_total') < facts) {
    services.assertAlive();
    if (performance.now() - startedAt > PROJECTED_MS_MAX) throw new Error('the log is not projected in time');
    await pause(100);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const [cpu = 0] = readCpu([pid]);
  const { rssMb } = readMemory(pid);
  await services.end(PROJECTOR, 'SIGTERM');
  return { seconds, cpu, rssMb };
}

async function sizeOf(postgres: Postgres): Promise<number> {
  const [row] = await postgres.query<{ bytes: string }>('select pg_database_size(current_database())::text as bytes');
  return Number(row?.bytes);
}
