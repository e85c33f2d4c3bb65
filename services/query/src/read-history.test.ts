import { describe, expect, test } from '@jest/globals';
import { encodeMakerEvent, type OrderSubmitted } from '@makerbook/contracts-events';
import { examples, happenings, type OrderHistory } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { isRefusal } from '@makerbook/http';
import { LogUnavailable, partitionOf } from '@makerbook/kafka';
import { LogInMemory } from '@makerbook/kafka/testing';
import type { Asker } from './answer-signed.js';
import { openCursors, parseCursor } from './cursor.js';
import type { HistoryPart } from './parse-requests.js';
import { readPageFrom } from './read-history.js';
import type { HistoryEntry, HistoryPage, HistoryQuery } from './store/read-histories.js';

const partitions = 4;
const maker = examples.reported.order.maker as Hex;
const partition = partitionOf(maker, partitions);
const place = { topic: 'log', partition };
const orderHash = examples.reported.orderHash as Hex;
const END = 9n;

const submitted: OrderSubmitted = {
  type: 'OrderSubmitted',
  maker,
  orderHash,
  order: examples.reported.order as OrderSubmitted['order'],
  signature: `0x${'5a'.repeat(65)}`,
  acceptedAtMs: 5,
  cause: { kind: 'request', requestId: 'r' },
};
const opened = (logOffset: bigint): HistoryEntry => ({
  partition,
  logOffset,
  orderHash,
  happened: 'OPENED',
  status: 'VALIDATING',
  reason: null,
  remaining: 100n,
  cappedUntil: 0,
});

/** Opens rows that end at `END`, and a log with one fact per second. */
function open(over: Partial<HistoryPage> = {}, unsettled = 0) {
  const log = new LogInMemory({ partitions });
  for (let n = 0; n < 12; n += 1) {
    const { key, value, headers } = encodeMakerEvent(submitted, { id: `f${n}`, source: '/test', timeMs: 0 });
    log.put({ ...place, key: key ?? '', value, headers, offset: BigInt(n), timestampMs: n * 1_000 });
  }
  const asked: HistoryQuery[] = [];
  const here = { isLogAway: false };
  const view = log.connect();
  const page = { entries: [opened(4n)], next: { offset: END }, hasMore: false, keptFrom: 0n, isUnsure: false };
  const rows = {
    readMakerHistory: async (query: HistoryQuery) => {
      asked.push(query);
      return { ...page, ...over };
    },
    readPartitionClocks: async () => [{ partition, nextOffset: END, block: undefined }],
  };
  const readRecords: typeof view.readRecords = async (...wanted) => {
    if (here.isLogAway) throw new LogUnavailable('away', { mayHaveBeenAppended: false });
    return view.readRecords(...wanted);
  };
  const cursors = openCursors({ rows, log: view, topic: 'log' }, partitions);
  const watch = { awaitSettled: async (_: Hex, state: unknown) => state };
  const sources = { watch, rows, log: { ...view, readRecords }, topic: 'log', cursors };
  const readPage = readPageFrom(sources as unknown as Parameters<typeof readPageFrom>[0], partitions);
  const asker = { maker, state: { unsettled: Array(unsettled).fill('x') }, nowSeconds: 0 } as unknown as Asker;
  const part = { happened: undefined, fromMs: undefined, toMs: undefined, entriesMax: 7, after: undefined };
  return {
    asked,
    here,
    read: (wanted: Partial<HistoryPart> = {}) => readPage(asker, { ...part, ...wanted }),
    at: async (offset: bigint) => parseCursor((await cursors.cursorOf(partition, { offset })) ?? ''),
  };
}
const historyIn = (read: Awaited<ReturnType<ReturnType<typeof open>['read']>>): OrderHistory => {
  if (isRefusal(read)) throw new Error(read.detail);
  return read.history;
};

describe('a page of a history', () => {
  test('has the entries with their facts, and the cursor after them', async () => {
    const { read, asked } = open({ hasMore: true });
    const { entries, nextCursor, hasMore } = historyIn(await read());
    expect(entries).toMatchObject([{ orderHash, happened: 'OPENED', position: `${partition}:4`, loggedAtMs: 4_000 }]);
    expect([parseCursor(nextCursor).place, hasMore]).toEqual([{ offset: END }, true]);
    expect(asked).toEqual([
      { maker, partition, after: { offset: 0n }, before: undefined, happened: happenings, entriesMax: 7 },
    ]);
  });

  test('begins and ends at the given times, unless a cursor says where it begins', async () => {
    const { read, asked, at } = open();
    await read({ fromMs: 2_500, toMs: 7_000 });
    await read({ fromMs: 2_500, toMs: 99_000, after: await at(5n) });
    expect(asked.map(({ after, before }) => [after, before])).toEqual([
      [{ offset: 3n }, 7n],
      // Nothing was logged so late, so the page ends at the end of the log.
      [{ offset: 5n }, 12n],
    ]);
  });

  test('is gone if its cursor is in what was pruned; without a cursor it begins with what is kept', async () => {
    const { read, at } = open({ keptFrom: 4n });
    expect(await read({ after: await at(3n) })).toMatchObject({ code: 'gone' });
    expect(historyIn(await read({ after: await at(4n) })).entries).toHaveLength(1);
    expect(historyIn(await read()).entries).toHaveLength(1);
  });

  test('is not read for a cursor of another log, or one that is ahead of the rows', async () => {
    const { read, at, asked } = open();
    const own = await at(5n);
    expect(await read({ after: { ...own, log: '0badf00d' } })).toMatchObject({ code: 'gone' });
    expect(await read({ after: { ...own, place: { offset: END + 1n } } })).toMatchObject({ code: 'unavailable' });
    expect(asked).toEqual([]);
  });

  test.each([
    [0, {}, 0],
    [2, {}, 2],
    [0, { isUnsure: true }, undefined],
  ])('with %i writes in flight and rows that are %j lags by %s', async (unsettled, over, lag) => {
    expect(await open(over, unsettled).read()).toMatchObject({ lag });
  });

  test('is unavailable while the log does not answer', async () => {
    const { read, here } = open();
    here.isLogAway = true;
    expect(await read()).toMatchObject({ code: 'unavailable' });
  });
});
