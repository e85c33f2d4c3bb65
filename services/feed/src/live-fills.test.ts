import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, test } from '@jest/globals';
import { encodeFill, type Fill } from '@makerbook/contracts-events';
import type { BookFills } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { type ApiRequest, isRefusal } from '@makerbook/http';
import { LogInMemory } from '@makerbook/kafka/testing';
import { until } from '@makerbook/parts';
import { openFills } from './live-fills.js';
import { serveStreams } from './stream-book.js';

const LOG = '5e1fc0de';
const [alice, bob, usd, eth] = ['a1', 'b2', 'd0', 'e0'].map((byte) => `0x${byte.repeat(20)}`) as [Hex, Hex, Hex, Hex];
const hash: Hex = `0x${'7e'.repeat(32)}`;
const partitionOf = (maker: Hex) => (maker === alice ? 0 : 1);

/** A topic of two partitions. Bob's fills are in the second. */
function given() {
  const log = new LogInMemory({ partitions: 2 });
  let offset = 0;
  return {
    log,
    publish(maker: Hex, block: number, logIndex = 0, more: Partial<Fill> = {}): void {
      offset += 1;
      const partition = partitionOf(maker);
      const fill: Fill = {
        type: 'Fill',
        orderHash: hash,
        maker,
        taker: bob,
        makingToken: eth,
        makingAmount: '0x4',
        takingToken: usd,
        takingAmount: '0xa',
        blockNumber: block,
        transactionHash: hash,
        logIndex,
        position: { partition, offset: `${offset}` },
        ...more,
      };
      const { key, value, headers } = encodeFill(fill, { id: `${partition}:${offset}:0`, source: '/x', timeMs: 0 });
      log.store([{ topic: 'fills', partition, key: key ?? '', value, headers }]);
    },
    /** A process that has read the topic. */
    async open({ fillsMax = 100, onFatal = () => undefined }: { fillsMax?: number; onFatal?: () => void } = {}) {
      const book = { caughtUp: Promise.resolve(), partitions: 2, logName: () => LOG };
      const onNews = () => streams.send();
      const fills = openFills(log.connect(), { topic: 'fills', book, fillsMax, onFatal, onNews });
      const streams = serveStreams({ feed: fills, name: 'fills', ended: () => undefined, aheadMsMax: 40 });
      await fills.caughtUp;
      const list = (query = ''): BookFills => {
        const reply = fills.list({ query: new URLSearchParams(query) });
        if (isRefusal(reply)) throw new Error(reply.detail);
        return JSON.parse(String(reply.body));
      };
      return {
        list,
        /** The place of each fill of a page. */
        blocks: (query = '') => list(query).fills.map(({ blockNumber, logIndex }) => `${blockNumber}:${logIndex}`),
        async stream(after?: string) {
          const query = new URLSearchParams(after === undefined ? {} : { after });
          const request = { query, headers: {} } as unknown as ApiRequest;
          const reply = await streams.stream(request, () => ({ enter: () => undefined, leave: () => undefined }));
          if (isRefusal(reply)) return reply.code;
          let text = '';
          const response = new PassThrough().on('data', (more) => {
            text += more;
          });
          reply.stream?.(response as unknown as ServerResponse);
          return { blocks: () => [...text.matchAll(/^event: fill\ndata: .*"blockNumber":(\d+)/gm)].map(([, n]) => n) };
        },
        stop: async () => {
          streams.stop();
          await fills.stop();
        },
      };
    },
  };
}

test('a fill has its price, and pages list the newest fills of all partitions first', async () => {
  const { publish, open } = given();
  for (const block of [1, 4, 5]) publish(alice, block);
  for (const block of [2, 3]) publish(bob, block);
  publish(alice, 5, 2);
  const here = await open();
  const { fills, nextCursor } = here.list('limit=3');
  expect(fills.map(({ blockNumber, logIndex }) => [blockNumber, logIndex])).toEqual([
    [5, 2],
    [5, 0],
    [4, 0],
  ]);
  expect(fills[0]).toMatchObject({ maker: alice, makingAmount: '0x4', price: { numerator: '5', denominator: '2' } });
  expect(fills[0]).not.toHaveProperty('position');
  expect(nextCursor).toBe('4:0');
  expect(here.list(`limit=3&cursor=${nextCursor}`)).toMatchObject({ nextCursor: null });
  expect(here.blocks(`cursor=${nextCursor}`)).toEqual(['3:0', '2:0', '1:0']);
  await here.stop();
});

test('pages have only what is asked for, and a full page has a next one only if there is more', async () => {
  const { publish, open } = given();
  publish(alice, 1);
  publish(bob, 2);
  publish(alice, 3, 0, { makingToken: usd, takingToken: eth });
  const here = await open();
  expect(here.blocks(`maker=${alice}`)).toEqual(['3:0', '1:0']);
  expect(here.blocks(`making=${eth}&taking=${usd}`)).toEqual(['2:0', '1:0']);
  expect(here.list(`maker=${alice}&limit=2`).nextCursor).toBeNull();
  await here.stop();
});

test('only the newest fills are kept, even if older ones are read last', async () => {
  const { publish, open } = given();
  for (const block of [3, 4, 5]) publish(alice, block);
  for (const block of [1, 2, 6]) publish(bob, block);
  const here = await open({ fillsMax: 3 });
  expect(here.blocks()).toEqual(['6:0', '5:0', '4:0']);
  await here.stop();
});

test('a stream sends each fill after the page once, even if the fill is published twice', async () => {
  const { publish, open } = given();
  publish(alice, 1);
  const here = await open();
  const [behind, fresh] = [await here.stream(here.list().streamCursor), await here.stream()];
  publish(alice, 2);
  publish(alice, 2);
  publish(bob, 3);
  if (typeof behind === 'string' || typeof fresh === 'string') throw new Error('refused');
  await until(async () => behind.blocks().length === 2);
  for (const one of [behind, fresh]) expect(one.blocks().sort()).toEqual(['2', '3']);
  // The newest page leads behind all fills.
  expect(await here.stream(here.list().streamCursor)).toMatchObject({});
  await here.stop();
});

test('a stream resumes at a process that began later, unless it lacks fills that are no longer kept', async () => {
  const { publish, open } = given();
  publish(alice, 1);
  const first = await open();
  const { streamCursor } = first.list();
  for (const block of [2, 5]) publish(alice, block);
  for (const block of [3, 4]) publish(bob, block);
  const later = await open({ fillsMax: 3 });
  const stream = await later.stream(streamCursor);
  expect(stream).toBe('gone');
  const behind = await later.stream(`2:0,-:${LOG}`);
  if (typeof behind === 'string') throw new Error(behind);
  expect(behind.blocks()).toEqual(['3', '4', '5']);
  const whole = await (await open()).stream(streamCursor);
  if (typeof whole === 'string') throw new Error(whole);
  expect(whole.blocks()).toEqual(['2', '3', '4', '5']);
  await first.stop();
});

test('a stream resumes among the newest fills, however many a process finds at its start', async () => {
  const { publish, open } = given();
  // More fills than the buffer of the streams has room for.
  for (let block = 1; block < 20_000; block += 1) publish(block % 10 === 0 ? alice : bob, block);
  const here = await open({ fillsMax: 20_000 });
  const stream = await here.stream(`19980:0,19980:0:${LOG}`);
  if (typeof stream === 'string') throw new Error(stream);
  await until(async () => stream.blocks().length === 19);
  await here.stop();
});

test('a cursor is valid if a partition has no fills left, but not if it is ahead or of another log', async () => {
  const { publish, open } = given();
  publish(alice, 1);
  const here = await open();
  for (const [after, answer] of [
    [`1:0,7:0:${LOG}`, {}],
    [`9:0,-:${LOG}`, 'unavailable'],
    [`-,-:${LOG}`, {}],
    ['1:0,-:0badf00d', 'gone'],
  ] as const) {
    const asked = await here.stream(after);
    expect([after, typeof answer === 'string' ? asked : typeof asked]).toEqual([
      after,
      typeof answer === 'string' ? answer : 'object',
    ]);
  }
  await here.stop();
});
