import { describe, expect, test } from '@jest/globals';
import { joinRecords, type ListFill, type ListReading } from '@makerbook/redis';
import { type ListSources, readList, readNewest } from './read-list.js';
import type { Page } from './take-page.js';

const maker = `0x${'a1'.repeat(20)}` as const;
const stored = (nextOffset: bigint) => ({
  nextOffset,
  records: [
    { orderHash: `0x${'01'.repeat(32)}` as const, acceptedOffset: 1n, expiresAtSeconds: 50, json: '"expired"' },
    { orderHash: `0x${'02'.repeat(32)}` as const, acceptedOffset: 2n, expiresAtSeconds: 51, json: '"stored"' },
  ],
});
const cached = (pos: bigint): ListReading => ({
  kind: 'list',
  pos,
  list: joinRecords([{ acceptedOffset: 1, record: Buffer.from('"cached"') }]),
});

/** Sources with fixed answers; a list of answers is returned in order. */
function sourcesOf(answers: {
  end?: bigint;
  cached: (ListReading | undefined)[];
  stored?: ReturnType<typeof stored>;
  positions?: { cache: bigint | undefined; store: bigint | undefined };
}): ListSources & { offers: ListFill[] } {
  const offers: ListFill[] = [];
  let reads = 0;
  return {
    offers,
    readEnd: async () => answers.end,
    readCached: async () => answers.cached[Math.min(reads++, answers.cached.length - 1)],
    readStored: async () => answers.stored,
    watch: {
      awaitPosition: async () => {
        if (answers.positions === undefined) throw new Error('nothing to wait for');
        return answers.positions;
      },
    },
    offerToCache: (offer) => offers.push(offer),
  };
}

const whole: Page = { after: undefined, ordersMax: undefined };
const readPage = async (sources: ListSources, page: Page) =>
  readList(await readNewest(maker, 0, sources, 50), sources, { waitMsMax: 1_000, page });
const read = async (sources: ListSources) => {
  const listing = await readPage(sources, whole);
  return listing && { body: listing.body.toString(), source: listing.source, lag: listing.lag };
};

describe('a list is read', () => {
  test('from Redis where it has reached the end of the log', async () => {
    const sources = sourcesOf({ end: 7n, cached: [cached(7n)] });
    expect(await read(sources)).toEqual({ body: '["cached"]', source: 'redis', lag: 0n });
  });

  test('from Redis after the wait', async () => {
    const sources = sourcesOf({
      end: 7n,
      cached: [cached(6n), cached(8n)],
      positions: { cache: 8n, store: undefined },
    });
    expect(await read(sources)).toEqual({ body: '["cached"]', source: 'redis', lag: 0n });
  });

  test('from Postgres where Redis is cold, which is offered the list with its expired orders', async () => {
    const sources = sourcesOf({ end: 7n, cached: [{ kind: 'cold', pos: 7n, epoch: 'e' }], stored: stored(9n) });
    expect(await read(sources)).toEqual({ body: '["stored"]', source: 'postgres', lag: 0n });
    expect(sources.offers).toEqual([{ maker, partition: 0, epoch: 'e', snapshotPos: 9n, orders: stored(9n).records }]);
  });

  test('from Postgres where Redis stays behind it', async () => {
    const positions = { cache: 6n, store: 7n };
    const sources = sourcesOf({ end: 7n, cached: [cached(6n)], positions, stored: stored(7n) });
    expect(await read(sources)).toEqual({ body: '["stored"]', source: 'postgres', lag: 0n });
  });

  test('from Redis where Postgres is not ahead, with its lag', async () => {
    const sources = sourcesOf({ end: 9n, cached: [cached(6n)], positions: { cache: 6n, store: 6n } });
    expect(await read(sources)).toEqual({ body: '["cached"]', source: 'redis', lag: 3n });
  });

  test('as it is, of unknown age, where the end of the log cannot be read', async () => {
    expect(await read(sourcesOf({ cached: [cached(6n)] }))).toMatchObject({ source: 'redis', lag: undefined });
    const sources = sourcesOf({ cached: [{ kind: 'forgotten' }], stored: stored(7n) });
    expect(await read(sources)).toMatchObject({ source: 'postgres', lag: undefined });
  });

  test('from a Redis that is behind, where Postgres is gone', async () => {
    const sources = sourcesOf({ end: 9n, cached: [cached(6n)], positions: { cache: 6n, store: undefined } });
    expect(await read(sources)).toEqual({ body: '["cached"]', source: 'redis', lag: 3n });
  });

  test('from nowhere, when both are gone', async () => {
    expect(await read(sourcesOf({ cached: [undefined] }))).toBeUndefined();
  });
});

describe('a list has', () => {
  const records = [3, 5, 8].map((acceptedOffset) => ({
    acceptedOffset,
    record: Buffer.from(String(acceptedOffset)),
  }));
  const fromRedis = () => sourcesOf({ end: 9n, cached: [{ kind: 'list', pos: 9n, list: joinRecords(records) }] });
  const fromPostgres = () => {
    const rows = records.map(({ acceptedOffset, record }) => ({
      orderHash: `0x${'01'.repeat(32)}` as const,
      acceptedOffset: BigInt(acceptedOffset),
      expiresAtSeconds: 99,
      json: String(record),
    }));
    const positions = { cache: undefined, store: 9n };
    return sourcesOf({ end: 9n, cached: [undefined], positions, stored: { nextOffset: 9n, records: rows } });
  };

  test('the same ETag from Redis and from Postgres as long as it is the same, and another one for each page', async () => {
    const pages: Page[] = [whole, { after: undefined, ordersMax: 2 }, { after: 3, ordersMax: undefined }];
    const etags: (string | undefined)[] = [];
    for (const page of pages) {
      const etag = (await readPage(fromRedis(), page))?.etag;
      expect((await readPage(fromPostgres(), page))?.etag).toBe(etag);
      expect((await readPage(fromRedis(), page))?.etag).toBe(etag);
      etags.push(etag);
    }
    expect(new Set(etags).size).toBe(3);
    expect(etags[0]).toMatch(/^W\/"[0-9a-f]{32}"$/);
  });

  test('pages from either source, by the place of the last order', async () => {
    for (const sources of [fromRedis, fromPostgres]) {
      const first = await readPage(sources(), { after: undefined, ordersMax: 2 });
      expect([String(first?.body), first?.nextCursor]).toEqual(['[3,5]', '5']);
      const second = await readPage(sources(), { after: 5, ordersMax: 2 });
      expect([String(second?.body), second?.nextCursor]).toEqual(['[8]', undefined]);
    }
  });
});
