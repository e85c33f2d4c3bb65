import { describe, expect, test } from '@jest/globals';
import { LogUnavailable } from '@makerbook/kafka';
import { type ListCache, RedisUnavailable } from '@makerbook/redis';
import { silentLogger } from '@makerbook/telemetry';
import { createListSources } from './connect-sources.js';

const maker = `0x${'a1'.repeat(20)}` as const;
const gone = () => Promise.reject(new RedisUnavailable('gone'));

/** Sources over a log that answers with these one by one; an Error is thrown. */
function stage(ends: (readonly bigint[] | Error)[], cache: Partial<ListCache> = {}) {
  let asked = 0;
  const clock = { nowMs: 0 };
  const filled: string[] = [];
  const sources = createListSources({
    log: {
      endOffsets: async () => {
        const answer = ends[asked++];
        if (answer === undefined || answer instanceof Error) throw answer ?? new Error('asked too often');
        return answer;
      },
    },
    topic: 'facts',
    cache: { readList: gone, fillList: gone, readPosition: gone, ...cache },
    rows: { readMakerList: () => Promise.reject(new Error('not asked')) },
    replica: undefined,
    watch: { awaitPosition: async () => ({ cache: undefined, store: undefined }) },
    logger: silentLogger,
    metrics: { filled: (outcome) => filled.push(outcome) },
    monotonicMs: () => clock.nowMs,
  });
  return { sources, clock, filled, asked: () => asked };
}

describe('the sources of a list', () => {
  test('return the end of the requested partition', async () => {
    const { sources } = stage([[5n, 7n]]);
    expect(await sources.readEnd(1)).toBe(7n);
  });

  test('do not read the end of the log for a moment after a failure: its absence does not cost each GET the time-out', async () => {
    const { sources, clock, asked } = stage([new LogUnavailable('gone', { mayHaveBeenAppended: false }), [5n]]);
    expect(await sources.readEnd(0)).toBeUndefined();
    expect(await sources.readEnd(0)).toBeUndefined();
    expect(asked()).toBe(1);
    clock.nowMs += 500;
    expect(await sources.readEnd(0)).toBe(5n);
  });

  test('return undefined where Redis is away, and let a bug through', async () => {
    expect(await stage([]).sources.readCached(maker, 0, 0)).toBeUndefined();
    await expect(stage([new TypeError('a bug')]).sources.readEnd(0)).rejects.toThrow('a bug');
  });

  test('offer a list once while many requests read it', async () => {
    let finish: () => void = () => undefined;
    const filling = new Promise<'filled'>((resolve) => {
      finish = () => resolve('filled');
    });
    const { sources, filled } = stage([], { fillList: () => filling });
    const offer = { maker, partition: 0, epoch: 'e', snapshotPos: 1n, orders: [] };
    for (let n = 0; n < 5; n += 1) sources.offerToCache(offer);
    finish();
    await new Promise((resolve) => setImmediate(resolve));
    expect(filled).toEqual(['filled']);
  });
});
