import { describe, expect, test } from '@jest/globals';
import { createWriteWatch } from './await-writes.js';
import type { ListState } from './store/read-lists.js';

const maker = `0x${'a1'.repeat(20)}` as const;
const stateOf = (version: bigint, unsettled: readonly string[] = []): ListState => {
  return { version, unsettled, isUnsure: false, cancelAt: 0 };
};

/** Timers that a test moves on. `pass` runs those that are due, and lets their effects happen. */
function stage(read: () => ListState | undefined | Promise<ListState | undefined>) {
  let nowMs = 0;
  const timers = new Set<{ atMs: number; work: () => void }>();
  const reads: string[] = [];
  const watch = createWriteWatch({
    readState: async (whose) => {
      reads.push(whose);
      return read();
    },
    waitMsMax: 1_000,
    after: (ms, work) => {
      const timer = { atMs: nowMs + ms, work };
      timers.add(timer);
      return () => timers.delete(timer);
    },
  });
  const pass = async (ms: number) => {
    for (const endMs = nowMs + ms; nowMs < endMs; nowMs += 1) {
      for (const timer of [...timers]) {
        if (timer.atMs <= nowMs && timers.delete(timer)) timer.work();
      }
      await new Promise((done) => setImmediate(done));
    }
  };
  return { watch, reads, pass, timers };
}

/** Shows how a promise has settled so far. */
function follow<T>(promise: Promise<T>): { value?: T; error?: unknown } {
  const seen: { value?: T; error?: unknown } = {};
  promise.then(
    (value) => Object.assign(seen, { value }),
    (error: unknown) => Object.assign(seen, { error }),
  );
  return seen;
}

describe('a maker’s writes', () => {
  test('are not waited for if all are settled', async () => {
    const { watch, reads } = stage(() => undefined);
    expect(await watch.awaitSettled(maker, stateOf(1n))).toEqual(stateOf(1n));
    expect(reads).toEqual([]);
  });

  test('are waited for until all are settled, and then the state is the newest', async () => {
    let now = stateOf(1n, ['a', 'b']);
    const { watch, pass, timers } = stage(() => now);
    const seen = follow(watch.awaitSettled(maker, now));
    await pass(100);
    now = stateOf(2n, ['b']);
    await pass(100);
    expect(seen).toEqual({});
    now = stateOf(3n);
    await pass(110);
    expect(seen.value).toEqual(stateOf(3n));
    await pass(30);
    expect(timers.size).toBe(0);
  });

  test('that came later are not waited for', async () => {
    let round = 0;
    const { watch, pass } = stage(() => {
      round += 1;
      return stateOf(BigInt(round), [`${round}`, `${round + 1}`]);
    });
    const seen = follow(watch.awaitSettled(maker, stateOf(0n, ['0', '1'])));
    await pass(110);
    expect(seen.value).toEqual(stateOf(2n));
  });

  test('are waited for only up to the limit, and the unsettled ones are named', async () => {
    const { watch, pass, reads } = stage(() => stateOf(2n, ['b', 'c', 'later']));
    const seen = follow(watch.awaitSettled(maker, stateOf(1n, ['a', 'b', 'c'])));
    await pass(990);
    expect(seen).toEqual({});
    expect(reads.length).toBeLessThan(16);
    await pass(20);
    expect(seen.value).toEqual(stateOf(2n, ['b', 'c']));
  });

  test('are no longer waited for once Postgres is gone, or after a bug', async () => {
    const gone = stage(() => undefined);
    const seen = follow(gone.watch.awaitSettled(maker, stateOf(1n, ['a'])));
    await gone.pass(30);
    expect('value' in seen && seen.value === undefined).toBe(true);
    const broken = stage(() => Promise.reject(new TypeError('a bug')));
    const failed = follow(broken.watch.awaitSettled(maker, stateOf(1n, ['a'])));
    await broken.pass(30);
    expect(failed.error).toEqual(new TypeError('a bug'));
  });
});
