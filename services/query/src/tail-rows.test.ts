import { describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { PostgresUnavailable } from '@makerbook/postgres';
import fc from 'fast-check';
import type { NewsReader, ReadEntry } from './read-history.js';
import type { HistoryEntry } from './store/read-histories.js';
import { tailRows } from './tail-rows.js';

const makers = [1, 2, 3].map((number): Hex => `0x${String(number).repeat(40)}`);
const [maker] = makers as [Hex];
const partition = 4;

/** Rows of one partition, and a tail that looks at them when a test tells it to. */
function openTail() {
  const entries: (ReadEntry & { readonly maker: Hex })[] = [];
  const quarantined = new Set<Hex>();
  const errors: unknown[] = [];
  const rows = { nextOffset: 0n, fails: undefined as Error | undefined, isLogAway: false };
  let look: () => void = () => undefined;
  let looked: () => void = () => undefined;
  const readNews: NewsReader = async ({ makers: asked, from, to }) => {
    if (rows.fails !== undefined) throw rows.fails;
    if (rows.isLogAway || rows.nextOffset < to) return undefined;
    return new Map(
      asked
        .filter((each) => !quarantined.has(each))
        .map((each) => [each, entries.filter((one) => one.maker === each && isIn(one, from, to))] as const),
    );
  };
  const tail = tailRows({
    rows: { readPartitionClocks: async () => [{ partition, nextOffset: rows.nextOffset, block: undefined }] },
    readNews,
    after: (_ms, work) => {
      look = work;
      looked();
      return () => undefined;
    },
    onError: (error) => errors.push(error),
  });
  return {
    tail,
    rows,
    quarantined,
    errors,
    happen(to: Hex, offset = rows.nextOffset) {
      const orderHash: Hex = `0x${offset.toString(16).padStart(64, '0')}`;
      const entry = { partition, logOffset: offset, orderHash, happened: 'OPENED' } as HistoryEntry;
      entries.push({ maker: to, entry, id: `0:-:${offset}`, described: { orderHash } as ReadEntry['described'] });
      rows.nextOffset = offset + 1n;
    },
    look: () =>
      new Promise<void>((resolve) => {
        looked = resolve;
        look();
      }),
    /** The offsets of the maker's entries in the rows, from this one on. */
    of: (one: Hex, from: bigint) =>
      entries
        .filter((each) => each.maker === one && isIn(each, from, rows.nextOffset))
        .map(({ entry }) => entry.logOffset),
  };
}

function isIn({ entry }: ReadEntry, from: bigint, to: bigint): boolean {
  return entry.logOffset >= from && entry.logOffset < to;
}

const offsetsOf = (taken: readonly { readonly offset: bigint }[] | undefined) => taken?.map(({ offset }) => offset);

describe('the tail of the rows', () => {
  test('waits while the log or the rows do not answer, and loses nothing', async () => {
    const { tail, look, happen, rows, errors } = openTail();
    const first = tail.listen(maker, partition);
    await look();
    const listener = tail.listen(maker, partition);
    for (const harm of [() => (rows.isLogAway = true), () => (rows.fails = new PostgresUnavailable('away'))]) {
      harm();
      happen(maker);
      await look();
      expect([listener.take(), tail.clockOf(partition)?.nextOffset]).toEqual([[], 0n]);
    }
    Object.assign(rows, { isLogAway: false, fails: undefined });
    await look();
    expect(offsetsOf(listener.take())).toEqual([0n, 1n]);
    expect(errors).toEqual([]);
    for (const each of [first, listener]) each.close();
  });

  test.each([
    ['an entry cannot be told', ({ rows }) => (rows.fails = new Error('no fill'))],
    ['the maker is in quarantine', ({ quarantined }) => quarantined.add(maker)],
    ['a crash has taken rows back', ({ rows }) => (rows.nextOffset = 1n)],
  ] satisfies [string, (opened: ReturnType<typeof openTail>) => unknown][])(
    'says that something is missing if %s',
    async (_, harm) => {
      const opened = openTail();
      for (const each of [maker, maker, maker]) opened.happen(each);
      const first = opened.tail.listen(maker, partition);
      await opened.look();
      const listener = opened.tail.listen(maker, partition);
      opened.happen(maker);
      harm(opened);
      await opened.look();
      expect(listener.take()).toBeUndefined();
      expect(opened.tail.clockOf(partition)?.nextOffset).toBe(opened.rows.nextOffset);
      for (const each of [first, listener]) each.close();
    },
  );

  test('says that something is missing if a stream falls too far behind', async () => {
    const { tail, look, happen } = openTail();
    const first = tail.listen(maker, partition);
    await look();
    const listener = tail.listen(maker, partition);
    for (let count = 0; count < 600; count += 1) happen(maker);
    await look();
    expect(listener.take()).toBeUndefined();
    for (const each of [first, listener]) each.close();
  });

  const step = fc.record({
    happens: fc.array(fc.nat({ max: 2 }), { maxLength: 4 }),
    isLogAway: fc.boolean(),
    back: fc.option(fc.nat({ max: 3 }), { freq: 5 }),
    opens: fc.option(fc.nat({ max: 2 }), { freq: 2 }),
    takes: fc.boolean(),
  });

  test('hands out everything once and in order, unless it says that something is missing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const { tail, look, happen, rows, of } = openTail();
        const open: { own: Hex; heard: bigint[]; listener: ReturnType<typeof tail.listen>; isLost: boolean }[] = [];
        const listen = (own: Hex) =>
          open.push({ own, heard: [], listener: tail.listen(own, partition), isLost: false });
        const take = () => {
          for (const each of open.filter(({ isLost }) => !isLost)) {
            const taken = each.listener.take();
            each.heard.push(...(offsetsOf(taken) ?? []));
            each.isLost = taken === undefined;
          }
        };
        listen(maker);
        for (const { happens, isLogAway, back, opens, takes } of steps) {
          // The log is the truth: rows that a crash has undone come back as they were.
          const end = rows.nextOffset;
          if (back !== null) {
            rows.nextOffset = end < BigInt(back) ? 0n : end - BigInt(back);
            await look();
            rows.nextOffset = end;
          }
          for (const number of happens) happen(makers[number] ?? maker);
          rows.isLogAway = isLogAway;
          await look();
          if (opens !== null) listen(makers[opens] ?? maker);
          if (takes) take();
        }
        rows.isLogAway = false;
        await look();
        take();
        for (const { own, heard, listener, isLost } of open) {
          const all = of(own, listener.since ?? 0n);
          expect(heard).toEqual(isLost ? all.slice(0, heard.length) : all);
          listener.close();
        }
      }),
      { numRuns: 100 },
    );
  });
});
