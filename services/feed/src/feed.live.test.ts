import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { type BookChange, FeedLost, followBook, quote, RankedOrders, readOverHttp } from '@makerbook/book';
import { hashOf } from '@makerbook/book/testing';
import type { BookSnapshotEnd } from '@makerbook/contracts-http';
import { pause } from '@makerbook/contracts-primitives';
import { until } from '@makerbook/parts';
import { openTestFeed, pair, type TestFeed } from './testing/open-test-feed.js';

let running: TestFeed;
beforeAll(async () => {
  running = await openTestFeed();
});
afterAll(() => running.stop());

const ask = async (url: string, init?: RequestInit) => {
  const answer = await fetch(url, init);
  return { status: answer.status, headers: answer.headers, body: await answer.text() };
};

test('the snapshot is the compacted topic, with a cursor, and the entry count and hash of each partition', async () => {
  const { projector } = running;
  const [one, two] = [hashOf('01'), hashOf('02')];
  await projector.publish([projector.put(0, one), projector.put(0, two), projector.put(1, hashOf('03'))]);
  await projector.publish([projector.remove(0, two), ...projector.clocks(), projector.put(0, one, '0x5')]);
  const { url } = await running.start();
  for (const encoding of ['gzip', 'identity']) {
    const { status, headers, body } = await ask(`${url}/v0alpha/book/snapshot`, {
      headers: { 'Accept-Encoding': encoding },
    });
    expect([status, headers.get('content-encoding')]).toEqual([200, encoding === 'gzip' ? 'gzip' : null]);
    const lines = body
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const { cursor, partitions } = lines.pop() as BookSnapshotEnd;
    expect(lines.map(({ key }) => key)).toEqual(['clock:0', one, hashOf('03'), 'clock:1', 'clock:2']);
    expect(lines[1]).toMatchObject({
      partition: 0,
      headers: { ce_id: '0:5:0', ce_type: 'makerbook.BookEntry.v1' },
      value: { remainingMakingAmount: '0x5', orderHash: one },
    });
    expect(cursor).toBe('5:0,2:0,1:0:5e1fc0de');
    const digest = createHash('sha256').update(`${one}:0x5:ACTIVE`).digest('hex');
    expect(partitions[0]).toEqual({
      partition: 0,
      position: { partition: 0, offset: '5' },
      entries: 1,
      hash: `0x${digest}`,
    });
  }
});

test('pairs, ladder and quote are what the package computes, and a quote has the call for its fills', async () => {
  const { url } = await running.start();
  const orders = new RankedOrders();
  const book = followBook(running.log, {
    topic: running.topic,
    onChange: (change) => orders.apply(change),
    onFatal: () => undefined,
  });
  await book.caughtUp;
  const read = async (path: string) => JSON.parse((await ask(`${url}/v0alpha/book/${path}`)).body);
  const { pairs, block } = await read('pairs');
  expect(pairs).toMatchObject([
    { ...pair, orders: 2, best: { price: { numerator: '2', denominator: '1' }, amountIn: '30' } },
  ]);
  expect(block).toMatchObject({ number: 1 });
  const { levels } = await read(`${pair.tokenOut.toUpperCase().replace('X', 'x')}-${pair.tokenIn}?limit=1`);
  expect(levels).toEqual([
    { price: { numerator: '2', denominator: '1' }, amountIn: '30', amountOut: '15', orders: 2, gas: 144_000 },
  ]);
  const quoted = await read(
    `quote?tokenIn=${pair.tokenIn}&tokenOut=${pair.tokenOut}&amountOut=0xc&backups=20&limit=25`,
  );
  const wanted = quote(
    orders,
    pair,
    { amountOut: 12n },
    { nowSeconds: Date.now() / 1000, staleSecondsMax: 1_000_000, backups: 20 },
  );
  expect(quoted).toMatchObject({
    amountIn: String(wanted.amountIn),
    amountOut: '12',
    data: expect.stringMatching(/^0xae325c02/),
  });
  expect(quoted.fills.map(({ orderHash }: { orderHash: string }) => orderHash)).toEqual(
    wanted.fills.map(({ entry }) => entry.orderHash),
  );
  await book.stop();
});

/** Asks any of the processes each time, and cuts answers of streams somewhere. */
function cutting(urls: readonly string[], cuts: { count: number }): typeof fetch {
  return async (input, init) => {
    const at = new URL(String(input));
    const url = urls[Math.floor(Math.random() * urls.length)];
    const answer = await fetch(`${url}${at.pathname}${at.search}`, init);
    if (!at.pathname.endsWith('/stream') || !answer.ok) return answer;
    let left = Math.floor(Math.random() * 100_000);
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        if (left >= bytes.length) controller.enqueue(bytes);
        else {
          controller.enqueue(bytes.subarray(0, left));
          cuts.count += 1;
          controller.terminate();
        }
        left -= bytes.length;
      },
    });
    return new Response(answer.body?.pipeThrough(cut) ?? null, answer);
  };
}

test('an HTTP reader that is cut off and resumes at any process has the same book as a Kafka reader', async () => {
  const { projector, log, topic } = running;
  const feeds = [await running.start(), await running.start()];
  const cuts = { count: 0 };
  const failures: Error[] = [];
  const seen: Record<'kafka' | 'http', string[]> = { kafka: [], http: [] };
  const noteTo = (into: string[]) => (change: BookChange) => {
    const id = `${change.id.offset}:${change.id.index}`;
    into.push(change.kind === 'clock' ? `clock ${change.clock.position.partition} ${id}` : `${change.kind} ${id}`);
  };
  const over = readOverHttp({
    baseUrl: 'http://any',
    fetch: cutting(
      feeds.map(({ url }) => url),
      cuts,
    ),
  });
  const [http, kafka] = [
    followBook(over, { topic: '', onChange: noteTo(seen.http), onFatal: (error) => failures.push(error) }),
    followBook(log, { topic, onChange: noteTo(seen.kafka), onFatal: (error) => failures.push(error) }),
  ];
  await Promise.all([http.caughtUp, kafka.caughtUp]);
  const before = seen.kafka.length;
  for (let n = 0; n < 200; n += 1) {
    const records = Array.from({ length: 1 + Math.floor(Math.random() * 8) }, () => projector.act(Math.random));
    await projector.publish(n % 5 === 0 ? [...records, ...projector.clocks()] : records);
    // One process stops, and its clients go on at the other.
    if (n === 100) await feeds[0]?.stop();
  }
  await projector.publish(projector.clocks());
  const published = () => seen.kafka.length - before;
  const clocksOf = ({ clocks }: typeof http) =>
    [...clocks.values()].map(({ position }) => `${position.partition}:${position.offset}`).sort();
  await until(
    async () => failures.length > 0 || (published() > 600 && isDeepStrictEqual(clocksOf(http), clocksOf(kafka))),
  );
  expect(failures).toEqual([]);
  expect(new Map([...http.entries].sort())).toEqual(new Map([...kafka.entries].sort()));
  expect(cuts.count).toBeGreaterThan(3);
  await Promise.all([http.stop(), kafka.stop()]);
});

test('a reader is told to start over if the records that it lacks are gone', async () => {
  const first = await running.start();
  const lost = Promise.withResolvers<Error>();
  let url = first.url;
  const fetchAnywhere: typeof fetch = (input, init) => fetch(String(input).replace('http://any', url), init);
  const book = followBook(readOverHttp({ baseUrl: 'http://any', fetch: fetchAnywhere }), {
    topic: '',
    onFatal: lost.resolve,
  });
  await book.caughtUp;
  await first.stop();
  await running.projector.publish(running.projector.clocks());
  // A process keeps no records from before its start for streams, and the client lacks some of those.
  url = (await running.start()).url;
  expect(await lost.promise).toBeInstanceOf(FeedLost);
  await book.stop();
});

test('only named readers may read if the operator names some', async () => {
  const keys = [createHash('sha256').update('secret').digest('hex')];
  const readers = [{ name: 'one', keys, requestsPerSecond: 100, burst: 100, streamsMax: 1 }];
  const { url } = await running.start({ BOOK_READERS: JSON.stringify(readers) });
  const path = `${url}/v0alpha/book/stream?after=${(await snapshotOf(url, 'secret')).cursor}`;
  const refused = await ask(path, { headers: { Authorization: 'Bearer secrets' } });
  expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  const headers = { Authorization: 'Bearer secret' };
  const connection = new AbortController();
  const stream = await fetch(path, { headers, signal: connection.signal });
  expect([stream.status, (await ask(path, { headers })).status]).toEqual([200, 429]);
  connection.abort();
  // The service notices that a client has left when it sends something.
  await until(async () => {
    await running.projector.publish(running.projector.clocks());
    return (await ask(`${url}/v0alpha/book/snapshot`, { headers })).status === 200;
  });
});

test('the budget of a reader refills even if the clock is set back', async () => {
  const keys = [createHash('sha256').update('secret').digest('hex')];
  const readers = [{ name: 'one', keys, requestsPerSecond: 1_000, burst: 1, streamsMax: 1 }];
  const { url } = await running.start({ BOOK_READERS: JSON.stringify(readers) });
  const read = () => ask(`${url}/v0alpha/book/pairs`, { headers: { Authorization: 'Bearer secret' } });
  const before = await read();
  const anHourAgo = Date.now() - 3_600_000;
  const clock = jest.spyOn(Date, 'now').mockImplementation(() => anHourAgo);
  await pause(20);
  const after = await read();
  clock.mockRestore();
  expect([before.status, after.status]).toEqual([200, 200]);
});

async function snapshotOf(url: string, key: string): Promise<BookSnapshotEnd> {
  const { body } = await ask(`${url}/v0alpha/book/snapshot`, { headers: { Authorization: `Bearer ${key}` } });
  return JSON.parse(body.trimEnd().split('\n').at(-1) ?? '');
}

test('a record that breaks the promises of the feed ends the process', async () => {
  const { projector } = running;
  const feed = await running.start();
  // The clock counts this record, which is never published.
  projector.put(2, hashOf('77'));
  await projector.publish(projector.clocks());
  expect((await feed.failed).message).toContain('a record was lost, repeated or altered');
});
