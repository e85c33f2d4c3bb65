import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { BookSnapshotEnd } from '@makerbook/contracts-http';
import { type ApiRequest, isRefusal, type Refusal, type Reply } from '@makerbook/http';
import { until } from '@makerbook/parts';
import { RecentNews } from './keep-recent.js';
import type { LivePartition } from './live-book.js';
import { sendSnapshots } from './send-snapshot.js';
import { serveStreams } from './stream-book.js';

const SLOW_MS = 400;
const partitions = 2;

/** A book that changes, and that no client takes at once. */
function openBook(linesPerPartition: number) {
  const offsets = [0n, 0n];
  const recent = new RecentNews([undefined, undefined], 1_000_000_000);
  const lines: string[][] = [[], []];
  const book = {
    partitions,
    logName: () => '5e1fc0de',
    recent: () => recent,
    capture: (partition: number): LivePartition => {
      const offset = offsets[partition] ?? 0n;
      const last = offset === 0n ? undefined : { offset, index: 0 };
      return { lines: [...(lines[partition] ?? [])], last, entries: lines[partition]?.length ?? 0, hash: '0x' };
    },
    change(partition: number, name: string): void {
      const offset = (offsets[partition] ?? 0n) + 1n;
      offsets[partition] = offset;
      const line = JSON.stringify({ partition, name, rest: 'x'.repeat(1_000) });
      lines[partition]?.push(line);
      recent.append({ partition, id: { offset, index: 0 }, event: 'entry', log: '5e1fc0de', line });
      recent.seal();
    },
  };
  for (let n = 0; n < linesPerPartition; n += 1) for (const partition of [0, 1]) book.change(partition, `first ${n}`);
  return book;
}

function openSnapshots(book = openBook(1_000)) {
  const outcomes: boolean[] = [];
  const snapshot = sendSnapshots({ book, snapshotsMax: 4, sent: (isWhole) => outcomes.push(isWhole), slowMs: SLOW_MS });
  let streams = 0;
  /** A client that takes what it gets only when the test reads it. */
  async function ask(client: string): Promise<PassThrough | Refusal> {
    const reply = await askHead(client);
    if (isRefusal(reply)) return reply;
    const response = new PassThrough({ highWaterMark: 16_384 });
    response.on('error', () => undefined);
    reply.stream?.(response as unknown as ServerResponse);
    return response;
  }
  /** @param refusal why the client may have no snapshot now */
  async function askHead(client: string, refusal?: Refusal): Promise<Reply | Refusal> {
    const count = (change: number) => () => {
      streams += change;
    };
    const room = { enter: count(1), leave: count(-1) };
    const takeRoom = () => refusal ?? room;
    return snapshot({ headers: {} }, { name: client, client, headers: () => ({}), charge: () => undefined, takeRoom });
  }
  return { ask, askHead, outcomes, streams: () => streams, book };
}

async function readAll(answer: PassThrough | Refusal) {
  if (isRefusal(answer)) throw new Error(answer.detail);
  const lines = (await text(answer))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const { cursor } = lines.pop() as BookSnapshotEnd;
  return { names: lines.map(({ name }) => name as string), cursor };
}

test('a change while a snapshot is sent is in the snapshot or in the stream from its cursor', async () => {
  const { ask, book } = openSnapshots();
  const answer = await ask('one');
  if (isRefusal(answer)) throw new Error(answer.detail);
  // Partition 0 is being sent, and partition 1 has not begun.
  await until(() => answer.readableLength > 0);
  for (const partition of [0, 1]) book.change(partition, `later ${partition}`);
  const { names, cursor } = await readAll(answer);
  expect(names.filter((name) => name.startsWith('later'))).toEqual(['later 1']);
  const streams = serveStreams({ feed: book, name: 'book', ended: () => undefined });
  const request = { query: new URLSearchParams({ after: cursor }), headers: {} } as unknown as ApiRequest;
  const reply = await streams.stream(request, () => ({ enter: () => undefined, leave: () => undefined }));
  if (isRefusal(reply)) throw new Error(reply.detail);
  const client = new PassThrough();
  reply.stream?.(client as unknown as ServerResponse);
  streams.stop();
  const told = [...(await text(client)).matchAll(/^data: (\{"partition".*)$/gm)].map(([, data = '']) =>
    JSON.parse(data),
  );
  expect(told.map(({ name }) => name)).toEqual(['later 0']);
});

test('a slow client keeps its place if the next one is refused or makes a HEAD request', async () => {
  const { ask, askHead, outcomes, streams } = openSnapshots(openBook(4_000));
  const slow = [];
  for (const client of ['a', 'a', 'b', 'b']) slow.push(await ask(client));
  await pause(2 * SLOW_MS);
  const full: Refusal = { code: 'rate_limited', detail: 'c has 2 streams' };
  expect(await askHead('c', full)).toBe(full);
  expect(isRefusal(await askHead('c'))).toBe(false);
  await pause(SLOW_MS);
  expect({ outcomes, streams: streams() }).toEqual({ outcomes: [], streams: 4 });
  for (const one of slow) if (!isRefusal(one)) one.destroy();
  await until(() => streams() === 0);
});

test('a slow client loses its place only to a client that needs it, the slowest first', async () => {
  const { ask, outcomes, streams } = openSnapshots(openBook(4_000));
  const slow = [];
  for (const client of ['a', 'a', 'b', 'b']) slow.push(await ask(client));
  // No client is slow in its first window.
  expect(await ask('c')).toMatchObject({ code: 'unavailable', headers: { 'Retry-After': '2' } });
  const [reading] = slow;
  if (reading === undefined || isRefusal(reading)) throw new Error('it is sent');
  reading.resume();
  await pause(2 * SLOW_MS);
  expect(outcomes).not.toContain(false);
  const quick = await Promise.all(
    ['c', 'c', 'd'].map(async (client) => (await readAll(await ask(client))).names.length),
  );
  expect(quick).toEqual([8_000, 8_000, 8_000]);
  await until(() => reading.readableEnded);
  expect(outcomes.filter((isWhole) => isWhole)).toHaveLength(4);
  // Clients whose places nobody needs are still served.
  for (const one of slow.slice(1)) if (!isRefusal(one)) one.destroy();
  await until(() => streams() === 0);
});

test('a reader gets at most half of the places', async () => {
  const { ask } = openSnapshots();
  await Promise.all(['a', 'a'].map(ask));
  expect(await ask('a')).toMatchObject({ code: 'rate_limited', headers: { 'Retry-After': '2' } });
  expect((await readAll(await ask('b'))).names).toHaveLength(2_000);
});
