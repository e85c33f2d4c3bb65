import { type ClientRequest, get } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '@makerbook/parts';
import type { LoadGenerator } from '../kit/generate-load.js';
import { type MakerKey, postOf } from '../kit/sign-orders.js';
import type { Bench } from './open-bench.js';
import { inGroups } from './place-orders.js';
import { type Figure, state } from './report.js';

/** The most streams that a process allows a maker. */
const STREAMS_PER_MAKER = 10;
const OPENED_AT_ONCE = 100;
const POSTING_MAKERS = 100;
const ORDERS = 20;
/** A stream reports an order when it comes and when it is ACTIVE. */
const CHANGES_OF_AN_ORDER = 2;
const IDLE_MS = 5_000;
const PATIENCE_MS = 300_000;

/** Measures memory of a stream, CPU of query while nothing changes, and CPU for a change that a stream tells. */
export async function measureStreams(bench: Bench, load: LoadGenerator, count: number): Promise<readonly Figure[]> {
  const posting = await bench.openMakers(POSTING_MAKERS, ORDERS);
  const before = bench.memory('query');
  const streams = await openStreams(bench, posting);
  const others = await openStreams(bench, await bench.openMakers(count - POSTING_MAKERS, 0));
  const open = count * STREAMS_PER_MAKER;
  const bytes = ((bench.memory('query') - before) * 1e6) / open;
  const idleMs = (await cpuOf(bench, () => pause(IDLE_MS))) / IDLE_MS;
  others.close();
  const fewIdleMs = (await cpuOf(bench, () => pause(IDLE_MS))) / IDLE_MS;
  const posts = posting.map((maker) => postOf(Array.from({ length: ORDERS }, () => bench.signOrder(maker))));
  const changes = POSTING_MAKERS * STREAMS_PER_MAKER * ORDERS * CHANGES_OF_AN_ORDER;
  const startedAtMs = performance.now();
  const busyMs = await cpuOf(bench, async () => {
    await load.send(bench.portOf('ingress'), posts, { atOnce: 4 });
    await until('every stream has told all changes', () => streams.changes() >= changes, PATIENCE_MS);
  });
  const changesMs = busyMs - fewIdleMs * (performance.now() - startedAtMs);
  streams.close();
  const name = `${open.toLocaleString('en')} streams`;
  return [
    state(`memory of one of ${name}`, 'bytes', bytes),
    state(`${name} while nothing changes`, 'ms of CPU per s', 1_000 * idleMs),
    state('a change told by a stream', 'µs of CPU', (1_000 * changesMs) / changes, { valueMax: 20 }),
  ];
}

/** Opens streams of the makers, and counts the changes that they tell. */
async function openStreams(bench: Bench, makers: readonly MakerKey[]) {
  const port = bench.portOf('query');
  const requests: ClientRequest[] = [];
  let changes = 0;
  const open = (maker: MakerKey) =>
    new Promise<void>((resolve, reject) => {
      const { path } = bench.signStream(maker);
      const request = get({ port, path, agent: false }, (response) => {
        if (response.statusCode !== 200) return reject(new Error(`a stream was answered ${response.statusCode}`));
        let cut = '';
        response.on('data', (chunk: Buffer) => {
          const text = cut + chunk.toString('latin1');
          changes += text.split(CHANGE).length - 1;
          cut = text.slice(1 - CHANGE.length);
          resolve();
        });
      });
      request.on('error', reject);
      requests.push(request);
    });
  const all = makers.flatMap((maker) => Array.from({ length: STREAMS_PER_MAKER }, () => maker));
  for (const some of inGroups(all, OPENED_AT_ONCE)) await Promise.all(some.map(open));
  return {
    changes: () => changes,
    close: () => {
      for (const request of requests) request.destroy();
    },
  };
}

const CHANGE = 'event: change\n';

/** Milliseconds of CPU that query takes for the work. */
async function cpuOf(bench: Bench, work: () => Promise<unknown>): Promise<number> {
  const read = () => (bench.cpu().get('query') ?? 0) / 1_000;
  const before = read();
  await work();
  return read() - before;
}
