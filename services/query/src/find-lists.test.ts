import { describe, expect, test } from '@jest/globals';
import { PostgresUnavailable } from '@makerbook/postgres';
import { cacheLists, createListFinder } from './find-lists.js';
import { joinRecords } from './join-records.js';

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

/** A finder on a Postgres that can be away or have a list of some version. */
function stage() {
  const has = { postgres: 1n as bigint | 'away' };
  const reads = { postgres: 0, changes: 0 };
  const changes = { count: 1 as number | 'too many' };
  const cache = cacheLists();
  const finder = createListFinder({
    cache,
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
  });
  return { finder, has, reads, cache, changes };
}

describe('a list of a version is found', () => {
  test('in Postgres first, and then in memory', async () => {
    const { finder, reads } = stage();
    expect(await finder.find(maker, 1n)).toEqual({ list: listOf(1n), source: 'postgres' });
    expect(await finder.find(maker, 1n)).toEqual({ list: listOf(1n), source: 'memory' });
    expect(reads).toEqual({ postgres: 1, changes: 0 });
  });

  test('in Postgres where memory has a newer version', async () => {
    const { finder, has, cache } = stage();
    cache.keep(maker, listOf(9n));
    has.postgres = 8n;
    expect(await finder.find(maker, 8n)).toEqual({ list: listOf(8n), source: 'postgres' });
  });

  test('from an older one in memory and what has changed since', async () => {
    const { finder, has, cache, reads, changes } = stage();
    const other = { ...recordOf(4n), orderHash: `0x${'02'.repeat(32)}` as const, acceptedOffset: 2 };
    cache.keep(maker, joinRecords(9n, [recordOf(9n), other]));
    has.postgres = 10n;
    const shown = JSON.parse(String((await finder.find(maker, 10n))?.list.body)) as { version: number }[];
    expect(shown.map(({ version }) => version)).toEqual([10, 4]);
    expect(reads).toEqual({ postgres: 0, changes: 1 });
    Object.assign(changes, { count: 'too many' });
    has.postgres = 11n;
    expect(await finder.find(maker, 11n)).toEqual({ list: listOf(11n), source: 'postgres' });
    expect(reads.postgres).toBe(1);
  });

  test('in a newer version where the maker has gone on meanwhile', async () => {
    const { finder, has } = stage();
    has.postgres = 5n;
    expect(await finder.find(maker, 4n)).toMatchObject({ list: { version: 5n } });
  });

  test('by one reading for all that miss it at once', async () => {
    const { finder, reads } = stage();
    const found = await Promise.all(Array.from({ length: 20 }, () => finder.find(maker, 1n)));
    expect(new Set(found.map((one) => one?.list)).size).toBe(1);
    expect(reads).toEqual({ postgres: 1, changes: 0 });
  });

  test('nowhere while Postgres is away and another is held', async () => {
    const { finder, has, cache } = stage();
    cache.keep(maker, listOf(6n));
    has.postgres = 'away';
    expect(await finder.find(maker, 7n)).toBeUndefined();
  });
});

const joinedOf = (bytes = 10, version = 1n) =>
  joinRecords(version, [{ orderHash: '0x01', acceptedOffset: 0, expiresAtSeconds: 100, json: Buffer.alloc(bytes) }]);

describe('a list cached in memory', () => {
  test('is found by its maker, and replaced by the next one, but by no older one', () => {
    const cache = cacheLists(10_000);
    expect(cache.find('a')).toBeUndefined();
    cache.keep('a', joinedOf());
    const newer = joinedOf(20, 2n);
    cache.keep('a', newer);
    cache.keep('a', joinedOf(10, 1n));
    expect(cache.find('a')).toBe(newer);
    expect(cache.find('b')).toBeUndefined();
  });

  test('makes room when it was not used for longest', () => {
    const cache = cacheLists(3 * (1_503 + 750));
    for (const maker of ['a', 'b', 'c']) cache.keep(maker, joinedOf(1000));
    cache.find('a');
    cache.keep('d', joinedOf(1000));
    expect(['a', 'b', 'c', 'd'].filter((maker) => cache.find(maker) !== undefined)).toEqual(['a', 'c', 'd']);
  });

  test('never takes more than its room, and one that is larger is not cached at all', () => {
    const cache = cacheLists(4_400);
    cache.keep('a', joinedOf(1000));
    cache.keep('b', joinedOf(1_000_000));
    expect(cache.find('b')).toBeUndefined();
    expect(cache.find('a')).toBeDefined();
    // Room is given back whenever a list is replaced.
    for (let round = 0; round < 100; round += 1) cache.keep('c', joinedOf(500 + round));
    expect(cache.find('a')).toBeDefined();
  });
});
