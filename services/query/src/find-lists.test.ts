import { describe, expect, test } from '@jest/globals';
import { PostgresUnavailable } from '@makerbook/postgres';
import { type JoinedList, joinRecords } from '@makerbook/redis';
import { createListFinder } from './find-lists.js';
import { holdLists } from './hold-lists.js';

const maker = `0x${'a1'.repeat(20)}` as const;
const orderHash = `0x${'01'.repeat(32)}` as const;
const recordOf = (version: bigint) => {
  const json = `{"version":${version},"status":"ACTIVE","routableUntil":40,"remainingMakingAmount":"0x5"}`;
  return { orderHash, acceptedOffset: 1, expiresAtSeconds: 50, json: Buffer.from(json) };
};
const listedOf = (version: bigint) => {
  const state = { status: 'ACTIVE' } as const;
  const recordStart = `{"version":${version}`;
  return { orderHash, acceptedOffset: 1n, expiresAtSeconds: 50, recordStart, state, remaining: 5n, cappedUntil: 0 };
};
const listOf = (version: bigint) => joinRecords(version, [recordOf(version)]);

/** A finder of which each source can be away or have a list of some version. */
function stage() {
  const has = { redis: undefined as bigint | 'away' | undefined, postgres: 1n as bigint | 'away' };
  const stored: JoinedList[] = [];
  const outcomes: string[] = [];
  const reads = { redis: 0, postgres: 0, changes: 0 };
  const changes = { count: 1 as number | 'too many' };
  const held = holdLists();
  const finder = createListFinder({
    held,
    cache: {
      readList: async () => {
        reads.redis += 1;
        return typeof has.redis === 'bigint' ? listOf(has.redis) : undefined;
      },
      storeList: async (_, list) => {
        if (has.redis === 'away') return 'failed';
        stored.push(list);
        return 'filled';
      },
    },
    rows: {
      readMakerList: async () => {
        reads.postgres += 1;
        await new Promise((done) => setImmediate(done));
        if (has.postgres === 'away') throw new PostgresUnavailable('gone');
        return { version: has.postgres, records: [listedOf(has.postgres)] };
      },
      readListChanges: async () => {
        reads.changes += 1;
        if (has.postgres === 'away') throw new PostgresUnavailable('gone');
        if (changes.count === 'too many') return undefined;
        return { version: has.postgres, records: [listedOf(has.postgres)].slice(0, changes.count), removed: [] };
      },
    },
    rules: { routingGraceSeconds: 10 },
    filled: (outcome) => outcomes.push(outcome),
  });
  return { finder, has, stored, outcomes, reads, held, changes };
}

describe('a list of a version is found', () => {
  test('in Postgres first, which offers it to Redis, and then in memory', async () => {
    const { finder, stored, outcomes, reads } = stage();
    expect(await finder.find(maker, 1n)).toEqual({ list: listOf(1n), source: 'postgres' });
    expect(await finder.find(maker, 1n)).toEqual({ list: listOf(1n), source: 'memory' });
    expect([stored, outcomes, reads]).toEqual([[listOf(1n)], ['filled'], { redis: 1, postgres: 1, changes: 0 }]);
  });

  test('in Redis where another process has put it, and then in memory', async () => {
    const { finder, has, reads } = stage();
    has.redis = 7n;
    expect(await finder.find(maker, 7n)).toEqual({ list: listOf(7n), source: 'redis' });
    expect(await finder.find(maker, 7n)).toEqual({ list: listOf(7n), source: 'memory' });
    expect(reads).toEqual({ redis: 1, postgres: 0, changes: 0 });
  });

  test('in Postgres where memory and Redis have another version, be it older or newer', async () => {
    const { finder, has, stored } = stage();
    for (const [redis, postgres] of [
      [6n, 7n],
      [9n, 8n],
      ['away', 9n],
    ] as const) {
      Object.assign(has, { redis, postgres });
      expect(await finder.find(maker, postgres)).toEqual({ list: listOf(postgres), source: 'postgres' });
    }
    expect(stored.map(({ version }) => version)).toEqual([7n, 8n]);
  });

  test('from an older one and what has changed since, wherever that one is', async () => {
    const { finder, has, held, reads, changes } = stage();
    has.redis = 6n;
    const other = { ...recordOf(4n), orderHash: `0x${'02'.repeat(32)}` as const, acceptedOffset: 2 };
    for (const version of [7n, 8n]) {
      has.postgres = version;
      expect(await finder.find(maker, version)).toEqual({ list: listOf(version), source: 'postgres' });
    }
    // Only the first one had to ask Redis.
    expect(reads).toEqual({ redis: 1, postgres: 0, changes: 2 });
    held.keep(maker, joinRecords(9n, [recordOf(9n), other]));
    has.postgres = 10n;
    const shown = JSON.parse(String((await finder.find(maker, 10n))?.list.body)) as { version: number }[];
    expect(shown.map(({ version }) => version)).toEqual([10, 4]);
    Object.assign(changes, { count: 'too many' });
    has.postgres = 11n;
    expect(await finder.find(maker, 11n)).toEqual({ list: listOf(11n), source: 'postgres' });
    expect(reads.postgres).toBe(1);
  });

  test('and is offered to Redis again once a quarter of it has changed', async () => {
    const { finder, has, held, stored } = stage();
    const many = Array.from({ length: 12 }, (_, n) => {
      return { ...recordOf(0n), acceptedOffset: n, orderHash: `0x${String(n + 1).padStart(64, '0')}` as const };
    });
    held.keep(maker, joinRecords(0n, many));
    for (has.postgres = 1n; has.postgres <= 8n; has.postgres += 1n) await finder.find(maker, has.postgres);
    expect(stored.map(({ version }) => version)).toEqual([4n, 8n]);
  });

  test('in a newer version where the maker has gone on meanwhile', async () => {
    const { finder, has } = stage();
    has.postgres = 5n;
    expect(await finder.find(maker, 4n)).toMatchObject({ list: { version: 5n } });
  });

  test('by one reading for all that miss it at once', async () => {
    const { finder, reads, stored } = stage();
    const found = await Promise.all(Array.from({ length: 20 }, () => finder.find(maker, 1n)));
    expect(new Set(found.map((one) => one?.list)).size).toBe(1);
    expect([reads, stored.length]).toEqual([{ redis: 1, postgres: 1, changes: 0 }, 1]);
  });

  test('nowhere while Postgres is away and nobody else has it', async () => {
    const { finder, has } = stage();
    Object.assign(has, { redis: 6n, postgres: 'away' });
    expect(await finder.find(maker, 7n)).toBeUndefined();
  });
});

test('the newest list without Postgres is that of memory or that of Redis, whichever is newer', async () => {
  const { finder, has, held } = stage();
  has.redis = 'away';
  expect(await finder.findNewest(maker)).toBeUndefined();
  held.keep(maker, listOf(5n));
  expect(await finder.findNewest(maker)).toEqual({ list: listOf(5n), source: 'memory' });
  has.redis = 6n;
  expect(await finder.findNewest(maker)).toEqual({ list: listOf(6n), source: 'redis' });
  has.redis = 4n;
  expect(await finder.findNewest(maker)).toEqual({ list: listOf(5n), source: 'memory' });
});
