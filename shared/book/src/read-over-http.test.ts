import { expect, test } from '@jest/globals';
import type { FeedRecord } from './book.js';
import { FeedLost, readOverHttp } from './read-over-http.js';
import { lineOf } from './read-recording.js';
import { clockRecord, entryRecord, hashOf } from './testing/feed-records.js';

const [first, second] = [entryRecord(hashOf('01'), { offset: 1 }), clockRecord(2, { offset: 2 })];
const end = JSON.stringify({ cursor: '-,1:0', partitions: [] });
const snapshot = () => new Response(`${lineOf(first)}\n${end}\n`);
const eventOf = (record: FeedRecord, id: string) => `id: ${id}\nevent: clock\ndata: ${lineOf(record)}\n\n`;
const refusal = (status: number) => new Response('{"code":"x"}', { status, headers: { 'Retry-After': '0.01' } });

/**
 * Follows the feed with these answers, one for each request. Later requests get none.
 * @returns the requested paths and the outcome
 */
function follow(...answers: readonly (() => Response | Promise<Response>)[]) {
  const asked: string[] = [];
  const records: FeedRecord[] = [];
  const failed = Promise.withResolvers<Error>();
  const fetch: typeof globalThis.fetch = async (input, init) => {
    asked.push(String(input).replace('http://x/v0alpha/book/', ''));
    const answer = answers[asked.length - 1];
    if (answer !== undefined) return answer();
    return new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)));
  };
  const following = readOverHttp({ baseUrl: 'http://x', fetch }).followTopic({
    topic: '',
    from: 'beginning',
    onRecords: (_partition, more) => records.push(...more),
    onFatal: failed.resolve,
  });
  return { asked, records, following, failed: failed.promise };
}

async function untilAsked(asked: readonly string[], count: number): Promise<void> {
  while (asked.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
}

test('the feed is read as a snapshot, then a stream, which resumes after the last complete event', async () => {
  const stream = () => new Response(`:\n\n${eventOf(second, '-,2:0')}${eventOf(second, '-,3:0').slice(0, -30)}`);
  const { asked, records, following } = follow(snapshot, stream);
  await following.caughtUp;
  expect(following.positions()).toEqual([0n, 1n]);
  expect(following.lastPollAtMs?.()).toBeGreaterThan(0);
  await untilAsked(asked, 3);
  expect(asked).toEqual(['snapshot', 'stream?after=-,1:0', 'stream?after=-,2:0']);
  expect(records.map(({ key, headers }) => [key, headers['ce_id']])).toEqual([
    [first.key, '3:1:0'],
    [second.key, '3:2:0'],
  ]);
  expect(JSON.parse(String(records[0]?.value))).toEqual(JSON.parse(String(first.value)));
  await following.stop();
});

test('the snapshot is asked for again while the service is down or busy', async () => {
  const away = () => Promise.reject(new TypeError('fetch failed'));
  const { asked, following } = follow(
    () => refusal(503),
    () => refusal(429),
    away,
    snapshot,
  );
  expect(following.lastPollAtMs?.()).toBe(-Infinity);
  await following.caughtUp;
  expect(asked.slice(0, 4)).toEqual(new Array(4).fill('snapshot'));
  await following.stop();
});

test.each([
  ['a snapshot without its end', [() => new Response(`${lineOf(first)}\n`)], FeedLost, 'cut'],
  ['a stream that cannot be resumed', [snapshot, () => refusal(410)], FeedLost, '410'],
  ['a key that is not known', [() => refusal(401)], Error, '401'],
] as const)('%s is fatal', async (_name, answers, kind, text) => {
  const { failed, following } = follow(...answers);
  const failure = await failed;
  expect([failure.constructor, failure.message]).toEqual([kind, expect.stringContaining(text)]);
  await following.stop();
});

test('an error of the handler is fatal, and is not taken for a network error', async () => {
  const failed = Promise.withResolvers<Error>();
  const reader = readOverHttp({ baseUrl: 'http://x', fetch: async () => snapshot() });
  const onRecords = () => {
    throw new Error('of the handler');
  };
  reader.followTopic({ topic: '', from: 'beginning', onRecords, onFatal: failed.resolve });
  expect((await failed.promise).message).toBe('of the handler');
});
