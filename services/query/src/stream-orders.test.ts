import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createRequestHashers } from '@makerbook/contracts-evm';
import { exampleDomain, examples } from '@makerbook/contracts-http';
import { type Hex, pause } from '@makerbook/contracts-primitives';
import { type ApiRequest, isRefusal } from '@makerbook/http';
import { until } from '@makerbook/parts';
import type { EntryReader, NewsReader, ReadEntry } from './read-history.js';
import type { HistoryEntry } from './store/read-histories.js';
import { type OrderStreams, type StreamParts, serveStreams, streamOrders } from './stream-orders.js';
import { tailRows } from './tail-rows.js';

const maker: Hex = `0x${'a1'.repeat(20)}`;
const partition = 0;
/** The time between two clocks of a stream. */
const CLOCK_MS = 1_000;
const opened: OrderStreams[] = [];
const errors: unknown[] = [];
afterEach(() => {
  for (const streams of opened.splice(0)) streams.stop();
  expect(errors.splice(0)).toEqual([]);
});

/** A client that notes what it gets. A test decides whether it reads. */
function openClient() {
  const events: string[] = [];
  const state = { destroyed: false, writableEnded: false, writableNeedDrain: false };
  const response = Object.assign(new EventEmitter(), state, {
    write: (text: string) => events.push(text),
    end(text: string) {
      events.push(text);
      response.writableEnded = true;
      response.emit('close');
    },
  });
  const leave = () => {
    response.destroyed = true;
    response.emit('close');
  };
  return { response: response as unknown as ServerResponse & { writableNeedDrain: boolean }, events, leave };
}

function entryAt(offset: number): ReadEntry {
  const orderHash: Hex = `0x${offset.toString(16).padStart(64, '0')}`;
  const entry = { partition, logOffset: BigInt(offset), orderHash, happened: 'OPENED' } as HistoryEntry;
  return { entry, id: `0:5e1fc0de:${offset}`, described: { orderHash, happened: 'OPENED' } as ReadEntry['described'] };
}

/** Streams over a history that grows. */
function openStreams({ keptFrom = 0n, streamsMax = 9, streamsPerMakerMax = 2, endsBefore = 0n } = {}) {
  const history: ReadEntry[] = [];
  let nextOffset = 0n;
  const readEntries: EntryReader = async (_maker, { after, entriesMax }) => {
    const behind = history.filter(
      ({ entry }) => entry.logOffset >= after.offset && entry.orderHash !== after.entry?.orderHash,
    );
    const entries = behind.slice(0, entriesMax);
    const hasMore = behind.length > entriesMax;
    const last = entries.at(-1)?.entry.logOffset ?? 0n;
    return {
      entries,
      next: { offset: hasMore ? last + 1n : nextOffset - endsBefore },
      hasMore,
      keptFrom,
      isUnsure: false,
    };
  };
  let looks = 0;
  const readPartitionClocks = async () => {
    looks += 1;
    return [{ partition, nextOffset, block: { number: 7, timestamp: 9 } }];
  };
  const rows = { readPartitionClocks };
  const readNews: NewsReader = async ({ from, to }) => {
    const news = history.filter(({ entry }) => entry.logOffset >= from && entry.logOffset < to);
    return new Map([[maker, news]]);
  };
  const after = (ms: number, work: () => void) => {
    // Polls, clocks and the longest waits end at once. The other timers of a stream never fire.
    if (ms > 50 && ms < 10_000 && ms !== CLOCK_MS) return () => undefined;
    const timer = setTimeout(work, 1);
    return () => clearTimeout(timer);
  };
  const onError = (error: unknown) => errors.push(error);
  const tail = tailRows({ rows, readNews, after, onError });
  const streams = serveStreams({ readEntries, tail, partitions: 1, streamsMax, streamsPerMakerMax, after, onError });
  opened.push(streams);
  return {
    streams,
    readEntries,
    /** How often the rows were looked at. */
    looks: () => looks,
    happen(...offsets: number[]) {
      for (const offset of offsets) history.push(entryAt(offset));
      nextOffset = BigInt((offsets.at(-1) ?? 0) + 1);
    },
    /** Without `resumedAt` the stream begins with a snapshot. */
    open(resumedAt?: bigint, behind = 0n, mayGoOn = () => true) {
      const client = openClient();
      const room = streams.takeRoom(maker);
      if (isRefusal(room)) throw new Error(room.code);
      const offset = resumedAt ?? behind;
      const begun = { place: { offset }, id: `0:5e1fc0de:${offset}` };
      room.open(client.response, resumedAt === undefined ? { ...begun, first: '{}' } : begun, mayGoOn);
      return client;
    },
  };
}

const changesOf = (events: readonly string[]) =>
  events.flatMap((text) => /^id: 0:5e1fc0de:(\d+)\nevent: change/.exec(text)?.[1] ?? []);

describe('a stream', () => {
  test('sends a history of many pages', async () => {
    const { happen, open, streams } = openStreams();
    happen(...Array.from({ length: 250 }, (_, n) => n));
    const { events } = open(0n);
    await until(() => changesOf(events).length === 250);
    expect(events.some((text) => text.includes('snapshot'))).toBe(false);
    streams.stop();
  });

  test('ends with the reason if its client does not read, or comes back too late', async () => {
    const slow = openStreams();
    const client = slow.open();
    client.response.writableNeedDrain = true;
    slow.happen(1);
    await until(() => client.events.some((text) => text.includes('"slow"')));
    const { events } = openStreams({ keptFrom: 9n }).open(3n);
    await until(() => events.some((text) => text.includes('"gone"')));
  });

  test('leaves nothing running if its client leaves while its rows are read', async () => {
    const { open, looks } = openStreams();
    const other = open();
    await until(() => other.events.some((text) => text.includes('"position"')));
    open().leave();
    await pause(20);
    other.leave();
    await pause(20);
    const before = looks();
    await pause(50);
    expect(looks()).toBe(before);
  });

  test('ends when the key that signed for it may not stream any more', async () => {
    let isRevoked = false;
    const { events } = openStreams().open(undefined, 0n, () => !isRevoked);
    await until(() => events.some((text) => text.includes('event: clock')));
    isRevoked = true;
    await until(() => events.at(-1)?.includes('{"reason":"revoked"}') === true);
  });

  test('is refused at once if what came after its event is no longer kept', async () => {
    const { issuedAt } = examples.streamQuery;
    const query = new URLSearchParams({ ...examples.streamQuery, issuedAt: String(issuedAt), cursor: '0:5e1fc0de:3' });
    const resume = async (keptFrom: bigint) => {
      const parts = {
        hashers: createRequestHashers({ ...exampleDomain, verifyingContract: exampleDomain.limitOrderProtocol }),
        rules: { requestTtlSeconds: 30, clockSkewSeconds: 5, mayRead: () => false, isKnown: () => true },
        isWhitelistKnown: () => true,
        replays: { takeSalt: async () => ({ kind: 'taken', remaining: 3 }), releaseSalt: async () => undefined },
        budget: { ratePerSecond: 1, burst: 5 },
        readState: async () => undefined,
        unixMs: () => issuedAt * 1000,
        cursors: { refuse: async () => undefined },
        ...openStreams({ keptFrom }),
      } as unknown as StreamParts;
      const request = { query, headers: {}, describe: () => undefined, charge: async () => undefined };
      return streamOrders(request as unknown as ApiRequest, parts);
    };
    expect(await resume(4n)).toMatchObject({ code: 'gone' });
    expect(await resume(3n)).toMatchObject({ contentType: expect.stringContaining('text/event-stream') });
  });

  test('is refused if the maker or the process is at its limit, or the service has stopped', () => {
    const { open, streams } = openStreams({ streamsMax: 2 });
    const [first] = [open(), open()];
    expect(streams.takeRoom(maker)).toMatchObject({ code: 'rate_limited' });
    const other: Hex = `0x${'b2'.repeat(20)}`;
    expect(streams.takeRoom(other)).toMatchObject({
      code: 'unavailable',
      detail: '2 streams are open here; try again',
    });
    first?.leave();
    expect(streams.takeRoom(other)).not.toHaveProperty('code');
    streams.stop();
    expect(streams.takeRoom(other)).toMatchObject({ code: 'unavailable' });
  });
});
