import { describe, expect, test } from '@jest/globals';
import type { ListFill, ListReading } from '@makerbook/redis';
import { type ListSources, readList } from './read-list.js';

const maker = `0x${'a1'.repeat(20)}` as const;
const stored = (nextOffset: bigint) => ({
  nextOffset,
  records: [
    { orderHash: `0x${'01'.repeat(32)}` as const, acceptedOffset: 1n, expiresAtSeconds: 50, json: '"expired"' },
    { orderHash: `0x${'02'.repeat(32)}` as const, acceptedOffset: 2n, expiresAtSeconds: 51, json: '"stored"' },
  ],
});
const cached = (pos: bigint): ListReading => ({ kind: 'list', pos, records: [Buffer.from('"cached"')] });

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

const read = async (sources: ListSources) => {
  const listing = await readList(maker, 0, sources, { nowSeconds: 50, waitMsMax: 1_000 });
  return listing && { ...listing, body: listing.body.toString() };
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
