import { describe, expect, test } from '@jest/globals';
import { PostgresUnavailable } from '@makerbook/postgres';
import fc from 'fast-check';
import { joinRecords } from './join-records.js';
import { cacheLists, createListFinder, type Found, type Page, readList, takePage } from './read-list.js';
import type { ListState } from './store/read-lists.js';

const maker = `0x${'a1'.repeat(20)}` as const;

const state = (over: Partial<ListState> = {}): ListState => {
  return { version: 7n, unsettled: [], isUnsure: false, cancelAt: 0, ...over };
};

const list = joinRecords(
  7n,
  [3, 5, 8].map((n) => ({
    orderHash: `0x${n}` as const,
    acceptedOffset: n,
    expiresAtSeconds: 50 + n,
    json: Buffer.from(String(n)),
  })),
);

const current: Found = { list, source: 'memory' };

const whole: Page = { from: undefined, ordersMax: undefined };

interface Given {
  /** The state before the wait. */
  readonly begun?: ListState | undefined;
  /** The state after the wait. */
  readonly waited?: ListState | undefined;
  readonly found?: Found | undefined;
  readonly page?: Page;
  readonly nowSeconds?: number;
}

async function read(given: Given, cache = cacheLists()) {
  const { found = current, page = whole, nowSeconds = 0 } = given;
  const begun = 'begun' in given ? given.begun : state();
  return readList({ maker, state: begun, nowSeconds }, page, {
    cache,
    watch: { awaitSettled: async (_, was) => ('waited' in given ? given.waited : was) },
    finder: { find: async () => ('found' in given ? given.found : found) },
  });
}

describe('a list', () => {
  test('that shows all of the maker’s writes has no lag', async () => {
    expect(await read({ begun: state({ unsettled: ['a'] }), waited: state() })).toMatchObject({
      body: list.body,
      source: 'memory',
      lag: 0,
    });
  });

  test('lags by the number of the maker’s writes that it does not show', async () => {
    const waited = state({ unsettled: ['a', 'b'] });
    expect(await read({ begun: state({ unsettled: ['a', 'b', 'c'] }), waited })).toMatchObject({ lag: 2 });
  });

  test('has an unknown lag if its state is unsure, or Postgres is down', async () => {
    expect(await read({ begun: state({ isUnsure: true }) })).toMatchObject({ body: list.body, lag: undefined });
    const cache = cacheLists();
    cache.keep(maker, list);
    for (const given of [{ begun: undefined }, { waited: undefined }, { found: undefined }]) {
      expect(await read(given, cache)).toMatchObject({ body: list.body, source: 'memory', lag: undefined });
    }
  });

  test('has an unknown lag if it is older than its state, because Postgres has lost commits', async () => {
    const older: Found = { list: joinRecords(6n, list.records), source: 'postgres' };
    expect(await read({ found: older })).toMatchObject({ version: 6n, lag: undefined });
  });

  test('is missing while Postgres is down and none is in memory', async () => {
    expect(await read({ begun: undefined })).toBeUndefined();
  });

  test('hides what the clock says is expired, and shows it again if the clock goes back', async () => {
    const cache = cacheLists();
    cache.keep(maker, list);
    for (const [nowSeconds, body] of [
      [58, '[]'],
      [53, '[5,8]'],
      [52, '[3,5,8]'],
    ] as const) {
      expect(String((await read({ nowSeconds, found: undefined, begun: undefined }, cache))?.body)).toBe(body);
    }
  });

  test('has its own ETag for each version, page and time, the same from every source', async () => {
    const newer: Found = { list: joinRecords(9n, list.records), source: 'postgres' };
    const given: Parameters<typeof read>[0][] = [
      { page: whole },
      { page: { from: undefined, ordersMax: 2 } },
      { page: { from: 4n, ordersMax: undefined } },
      { nowSeconds: 53 },
      { nowSeconds: 58 },
      { found: newer },
    ];
    const etags = await Promise.all(given.map(async (each) => (await read(each))?.etag));
    const copy: Found = { list: joinRecords(7n, list.records), source: 'postgres' };
    const again = await Promise.all(given.map(async (each) => (await read({ found: copy, ...each }))?.etag));
    expect(again).toEqual(etags);
    expect(new Set(etags).size).toBe(given.length);
    // A client that holds the list of an older build must not be told that nothing has changed: its records said less.
    expect(etags[0]).toMatch(/^W\/"2-7-/);
  });

  test('has another ETag if an expired record on a page is replaced by the next one', async () => {
    const expiries = [60, 53, 60];
    const records = list.records.map((record, at) => ({ ...record, expiresAtSeconds: expiries[at] ?? 0 }));
    const found: Found = { list: joinRecords(7n, records), source: 'memory' };
    const page: Page = { from: undefined, ordersMax: 2 };
    const [before, after] = [await read({ page, found }), await read({ page, found, nowSeconds: 53 })];
    expect([before, after].map((listing) => String(listing?.body))).toEqual(['[3,5]', '[3,8]']);
    expect(after?.etag).not.toBe(before?.etag);
  });
});

test('a list shows only the orders that are asked for, and each selection has its own ETag', async () => {
  const token = (byte: string) => `0x${byte.repeat(20)}` as const;
  const record = (n: number, salt: string, making: string, status: string) => ({
    orderHash: `0x${n}` as const,
    acceptedOffset: n,
    expiresAtSeconds: 99,
    json: Buffer.from(
      JSON.stringify({ order: { salt, making: { token: making }, taking: { token: token('cc') } }, status }),
    ),
  });
  const all = joinRecords(7n, [
    record(3, '0x1f', token('aa'), 'ACTIVE'),
    record(5, '0x1f', token('bb'), 'VALIDATING'),
    record(8, '0x2', token('aa'), 'INACTIVE'),
  ]);
  const none = { orderSalt: undefined, making: undefined, taking: undefined, status: undefined };
  const etags = new Set<string | undefined>();
  const pick = async (only: Partial<NonNullable<Page['only']>>, ordersMax?: number) => {
    const listing = await read({
      found: { list: all, source: 'memory' },
      page: { from: undefined, ordersMax, only: { ...none, ...only } },
    });
    etags.add(listing?.etag);
    return [JSON.parse(String(listing?.body)).length, listing?.next];
  };
  expect(await pick({ orderSalt: '0x1f' })).toEqual([2, undefined]);
  expect(await pick({ orderSalt: '0x1f', making: token('bb') })).toEqual([1, undefined]);
  expect(await pick({ making: token('aa') })).toEqual([2, undefined]);
  expect(await pick({ taking: token('aa') })).toEqual([0, undefined]);
  expect(await pick({ status: ['ACTIVE', 'INACTIVE'] })).toEqual([2, undefined]);
  expect(await pick({ making: token('aa') }, 1)).toEqual([1, 4n]);
  expect(etags.size).toBe(6);
});

const pagedOf = (offsets: Iterable<number>) =>
  [...offsets].sort((a, b) => a - b).map((acceptedOffset) => ({ acceptedOffset }));

describe('pages', () => {
  test('that hold the whole list reuse its array', () => {
    const list = pagedOf([1, 2, 3]);
    expect(takePage(list, { from: undefined, ordersMax: undefined })).toEqual({
      records: list,
      next: undefined,
    });
    expect(takePage(list, { from: undefined, ordersMax: 3 }).records).toBe(list);
  });

  test('hold each order that stays exactly once, whatever orders come and go between them', () => {
    const offsets = fc.uniqueArray(fc.nat(60), { maxLength: 40 });
    fc.assert(
      fc.property(
        offsets,
        fc.integer({ min: 1, max: 7 }),
        fc.array(fc.record({ goes: fc.nat(60), comes: fc.nat(3) })),
        (first, ordersMax, changes) => {
          const list = new Set(first);
          const stays = new Set(first);
          const seen: number[] = [];
          let from: bigint | undefined;
          for (let page = 0; page === 0 || from !== undefined; page += 1) {
            const taken = takePage(pagedOf(list), { from, ordersMax });
            expect(taken.records.length).toBeLessThanOrEqual(ordersMax);
            seen.push(...taken.records.map(({ acceptedOffset }) => acceptedOffset));
            from = taken.next;
            const change = changes[page];
            if (change === undefined) continue;
            list.delete(change.goes);
            stays.delete(change.goes);
            for (let n = 0; n < change.comes; n += 1) list.add(Math.max(60, ...list) + 1);
          }
          expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
          expect(seen).toEqual(expect.arrayContaining([...stays]));
        },
      ),
    );
  });
});

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

/** A finder on a Postgres that can be down, or have a list of some version. */
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

  test('in Postgres if memory has a newer version', async () => {
    const { finder, has, cache } = stage();
    cache.keep(maker, listOf(9n));
    has.postgres = 8n;
    expect(await finder.find(maker, 8n)).toEqual({ list: listOf(8n), source: 'postgres' });
  });

  test('from an older one in memory and its changes, or in Postgres if those are too many', async () => {
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

  test('in a newer version if the maker has written meanwhile', async () => {
    const { finder, has } = stage();
    has.postgres = 5n;
    expect(await finder.find(maker, 4n)).toMatchObject({ list: { version: 5n } });
  });

  test('by one read for all who ask at once', async () => {
    const { finder, reads } = stage();
    const found = await Promise.all(Array.from({ length: 20 }, () => finder.find(maker, 1n)));
    expect(new Set(found.map((one) => one?.list)).size).toBe(1);
    expect(reads).toEqual({ postgres: 1, changes: 0 });
  });

  test('nowhere while Postgres is down and memory has another version', async () => {
    const { finder, has, cache } = stage();
    cache.keep(maker, listOf(6n));
    has.postgres = 'away';
    expect(await finder.find(maker, 7n)).toBeUndefined();
  });
});

const joinedOf = (bytes = 10, version = 1n) =>
  joinRecords(version, [{ orderHash: '0x01', acceptedOffset: 0, expiresAtSeconds: 100, json: Buffer.alloc(bytes) }]);

describe('a list cached in memory', () => {
  test('is found by its maker, and replaced by a newer one but not by an older one', () => {
    const cache = cacheLists(10_000);
    expect(cache.find('a')).toBeUndefined();
    cache.keep('a', joinedOf());
    const newer = joinedOf(20, 2n);
    cache.keep('a', newer);
    cache.keep('a', joinedOf(10, 1n));
    expect(cache.find('a')).toBe(newer);
    expect(cache.find('b')).toBeUndefined();
  });

  test('is the first to make room if it was unused for longest', () => {
    const cache = cacheLists(3 * (1_503 + 750));
    for (const maker of ['a', 'b', 'c']) cache.keep(maker, joinedOf(1000));
    cache.find('a');
    cache.keep('d', joinedOf(1000));
    expect(['a', 'b', 'c', 'd'].filter((maker) => cache.find(maker) !== undefined)).toEqual(['a', 'c', 'd']);
  });

  test('is not kept if it is larger than the cache, and frees its room when it is replaced', () => {
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
