import { describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { LogUnavailable, partitionOf } from '@makerbook/kafka';
import { LogInMemory } from '@makerbook/kafka/testing';
import { PostgresUnavailable } from '@makerbook/postgres';
import { openCursors, parseCursor } from './cursor.js';
import type { HistoryPlace } from './store/read-histories.js';

const partitions = 4;
const maker: Hex = `0x${'a1'.repeat(20)}`;
const own = partitionOf(maker, partitions);
const inside = { orderHash: `0x${'01'.repeat(32)}` as Hex, rank: 3, blockNumber: -1, logIndex: -1 };

/** A deployment whose maker's partition has facts from `first` on. The rows have all, unless `here` says less. */
function deploy({ first = 1n, facts = 5, seed = 1 } = {}) {
  const log = new LogInMemory({ partitions });
  for (let n = 0; n < facts; n += 1) {
    const value = Buffer.from(`${seed} ${n}`);
    log.put({
      topic: 'log',
      partition: own,
      offset: first + BigInt(n),
      key: '',
      value,
      headers: {},
      timestampMs: seed,
    });
  }
  const here = { nextOffset: log.end('log', own), isPostgresAway: false, isKafkaAway: false };
  const view = log.connect();
  const cursors = openCursors(
    {
      topic: 'log',
      log: {
        readRange: (...asked) => {
          if (here.isKafkaAway) throw new LogUnavailable('away', { mayHaveBeenAppended: false });
          return view.readRange(...asked);
        },
      },
      rows: {
        readPartitionClocks: async () => {
          if (here.isPostgresAway) throw new PostgresUnavailable('away');
          return [{ partition: own, nextOffset: here.nextOffset, block: undefined }];
        },
      },
    },
    partitions,
  );
  const codeOf = async (text: string, knownTo?: bigint) =>
    (await cursors.refuse(parseCursor(text), maker, knownTo))?.code;
  return { here, cursors, codeOf, cursorOf: async (place: HistoryPlace) => (await cursors.cursorOf(own, place)) ?? '' };
}

const places: HistoryPlace[] = [
  { offset: 0n },
  { offset: 1n },
  { offset: 3n },
  { offset: 3n, entry: inside },
  { offset: 5n, entry: inside },
  { offset: 6n },
];

describe('a cursor', () => {
  test.each(places)('names its partition, its log and the place %j', async (place) => {
    const { cursorOf, codeOf } = deploy();
    const text = await cursorOf(place);
    expect(parseCursor(text)).toEqual({ partition: own, log: expect.any(String), place });
    expect(text).toMatch(place.offset > 1n ? /^\d:[0-9a-f]{8}:/ : /^\d:-:[01]$/);
    expect(await codeOf(text)).toBeUndefined();
  });

  test('is valid at another process or after a restore, if the log has the same records', async () => {
    expect(await deploy().codeOf(await deploy().cursorOf({ offset: 6n }))).toBeUndefined();
  });

  test('of another log is gone, unless it is from before the first record', async () => {
    const other = deploy({ seed: 2, facts: 40 });
    const codes = [0n, 1n, 2n, 6n, 30n].map(async (offset) => deploy().codeOf(await other.cursorOf({ offset })));
    expect(await Promise.all(codes)).toEqual([undefined, undefined, 'gone', 'gone', 'gone']);
    // This log has records before that place.
    const behind = await deploy({ seed: 2, first: 4n }).cursorOf({ offset: 4n });
    expect([behind, await deploy().codeOf(behind)]).toEqual([`${own}:-:4`, 'gone']);
  });

  test('of another partition is refused', async () => {
    const { codeOf, cursorOf } = deploy();
    const text = (await cursorOf({ offset: 3n })).replace(/^\d/, String((own + 1) % partitions));
    expect(await codeOf(text)).toBe('invalid_request');
  });

  test('that is ahead of the rows waits for them, even if the log has it', async () => {
    const { here, codeOf, cursorOf } = deploy();
    const ahead = await Promise.all([{ offset: 4n, entry: inside }, { offset: 5n }].map(cursorOf));
    const there = await Promise.all([{ offset: 3n, entry: inside }, { offset: 4n }].map(cursorOf));
    here.nextOffset = 4n;
    expect(await Promise.all([...ahead, ...there].map((text) => codeOf(text)))).toEqual([
      'unavailable',
      'unavailable',
      undefined,
      undefined,
    ]);
    here.nextOffset = 5n;
    expect(await Promise.all(ahead.map((text) => codeOf(text)))).toEqual([undefined, undefined]);
  });

  test('waits while the rows are empty, whether or not the log has records', async () => {
    const text = await deploy().cursorOf({ offset: 3n });
    const { here, codeOf } = deploy();
    here.nextOffset = 0n;
    expect(await codeOf(text)).toBe('unavailable');
    expect(await deploy({ facts: 0 }).codeOf(text)).toBe('unavailable');
  });

  test('is judged by what is known while Postgres is down, and needs the log only once', async () => {
    const { here, codeOf, cursorOf } = deploy();
    const text = await cursorOf({ offset: 3n });
    Object.assign(here, { isPostgresAway: true, isKafkaAway: true });
    expect([await codeOf(text), await codeOf(text, 3n), await codeOf(text, 2n)]).toEqual([
      'unavailable',
      undefined,
      'unavailable',
    ]);
    const fresh = deploy();
    fresh.here.isKafkaAway = true;
    expect([await fresh.cursors.cursorOf(own, { offset: 3n }), await fresh.codeOf(text)]).toEqual([
      undefined,
      'unavailable',
    ]);
  });
});
