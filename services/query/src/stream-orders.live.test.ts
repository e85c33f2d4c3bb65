import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { HDNodeWallet } from 'ethers';
import { openTestQuery, type TestQuery } from './testing/open-test-query.js';

let running: TestQuery;
let wallet: HDNodeWallet;
beforeAll(async () => {
  running = await openTestQuery();
  wallet = await running.admitMaker();
});
afterAll(() => running.stop());

/** Opens a stream, and reads it until an event with this text comes. */
async function readUntil(text: string, { headers = {}, rest = '' } = {}): Promise<{ read: string; close: () => void }> {
  const connection = new AbortController();
  const answer = await running.ask('stream', wallet, rest, { headers, signal: connection.signal });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
  let read = '';
  const decoder = new TextDecoder();
  const reader = answer.body?.getReader();
  while (!read.includes(text)) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) break;
    read += decoder.decode(value);
  }
  return { read, close: () => connection.abort() };
}

test('begins with the list, and has a clock every second', async () => {
  const [placed] = await running.projector.place(wallet);
  await running.projector.project({ block: () => ({ number: 7, timestamp: 9 }) });
  const { read, close } = await readUntil('event: clock');
  close();
  expect(read).toMatch(/^id: \d+\nevent: snapshot\ndata: \{"orders":\[/);
  expect(read).toContain(placed?.orderHash);
  expect(read).toMatch(/event: clock\ndata: \{"position":"\d:\d+","block":\{"number":7,"timestamp":9\}\}\n\n$/);
});

test('goes on behind an event without a snapshot, unless that is not kept any more', async () => {
  const { read, close } = await readUntil('event: clock', { headers: { 'Last-Event-ID': '3' } });
  close();
  expect(read).not.toContain('snapshot');
  await running.postgres.query('update projections set history_from = next_offset + 5');
  const gone = await readUntil('event: end', { rest: '&cursor=3' });
  expect(gone.read).toContain('event: end\ndata: {"reason":"gone"}\n\n');
});

test('stays open while Postgres is away', async () => {
  const connection = new AbortController();
  const answer = await running.ask('stream', wallet, '', { signal: connection.signal });
  const reader = answer.body?.getReader();
  await reader?.read();
  await running.gates.postgres.shut();
  const { done } = (await reader?.read()) ?? { done: true };
  await running.gates.postgres.open();
  expect(done).toBe(false);
  connection.abort();
});
