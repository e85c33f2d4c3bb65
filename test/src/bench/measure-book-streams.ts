import { once } from 'node:events';
import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { readCpu, readPssMb } from '../kit/read-processes.js';
import { type Figure, state } from './report.js';

const STREAMS = 1_000;
const SETTLE_MS = 5_000;
const MEASURE_MS = 20_000;
const END_BYTES = 10_000;

/**
 * Measures what streams of the book cost one process of feed: memory per stream, and CPU per record and stream. What
 * the process takes without streams does not count.
 */
export async function measureBookStreams(feed: {
  readonly pid: number;
  readonly port: number;
}): Promise<readonly Figure[]> {
  const base = `http://127.0.0.1:${feed.port}/v0alpha/book`;
  const pssMb = readPssMb(feed.pid);
  const without = await measureCpu(feed.pid, () => 0);
  const cursor = await readCursor(`${base}/snapshot`);
  let records = 0;
  const open: ClientRequest[] = [];
  for (let n = 0; n < STREAMS; n += 1) {
    const request = get(`${base}/stream?after=${cursor}`, { agent: false });
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    if (answer.statusCode !== 200) throw new Error(`a stream is refused with ${answer.statusCode}`);
    answer.on('error', () => undefined);
    if (n > 0) answer.resume();
    else
      answer.on('data', (chunk: Buffer) => {
        records += String(chunk).split('\nevent: ').length - 1;
      });
    open.push(request);
  }
  await pause(SETTLE_MS);
  const kb = ((readPssMb(feed.pid) - pssMb) * 1_000) / STREAMS;
  const within = await measureCpu(feed.pid, () => records);
  for (const request of open) request.destroy();
  const us = (within.us - without.us) / (within.records * STREAMS);
  const name = `${STREAMS.toLocaleString('en')} streams of one feed`;
  const rate = Math.round(within.records / (MEASURE_MS / 1_000));
  return [
    state('PSS of feed', 'MB', pssMb),
    state(`memory of each of ${name}`, 'kB', kb),
    state(`CPU for each record and stream, ${rate} records per s to ${name}`, 'µs', us),
    state(`CPU of feed, ${rate} records per s to ${name}`, 'ms per s', within.us / MEASURE_MS),
  ];
}

/** The cursor at the end of a snapshot, which may be too long for one string. */
async function readCursor(url: string): Promise<string> {
  const { body } = await fetch(url);
  let end = Buffer.alloc(0);
  for await (const chunk of body ?? []) end = Buffer.concat([end, chunk]).subarray(-END_BYTES);
  const { cursor } = JSON.parse(String(end).trimEnd().split('\n').at(-1) ?? '') as { cursor: string };
  return cursor;
}

async function measureCpu(pid: number, recordsOf: () => number): Promise<{ us: number; records: number }> {
  const [cpu = 0] = readCpu([pid]);
  const records = recordsOf();
  await pause(MEASURE_MS);
  const [after = 0] = readCpu([pid]);
  return { us: after - cpu, records: recordsOf() - records };
}
