import { expect, test } from '@jest/globals';
import { type PruneParts, pruneOnce } from './prune-rows.js';

const NOW_MS = 1_700_000_000_123;

/** One round over two partitions: what the log and Postgres were asked for. */
async function prune(historyDays: number, kept: readonly (bigint | undefined)[]) {
  const asked: unknown[] = [];
  const rounds: (readonly [sql: string, values: readonly unknown[] | undefined])[] = [];
  const parts: PruneParts = {
    log: {
      offsetsAt: async (topic, timeMs) => {
        asked.push([topic, timeMs]);
        return kept as bigint[];
      },
    },
    postgres: {
      query: async (sql, values) => {
        rounds.push([sql, values]);
        return [{ rows: 3n, offsets: 0n }] as never;
      },
    },
    makerEventsTopic: 'facts',
    owned: () => [0, 1],
    historyDays,
    intervalMs: 0,
    unixMs: () => NOW_MS,
    pruned: (rows) => asked.push(rows),
    logger: { warn: () => undefined },
  };
  await pruneOnce(parts, new AbortController().signal);
  const history = rounds.flatMap(([sql, values]) => (sql.includes('order_history') ? [values?.slice(0, 2)] : []));
  return { asked, history };
}

test('the log is asked for what was written HISTORY_DAYS days ago, to the millisecond, and what is older is deleted', async () => {
  const { asked, history } = await prune(30, [7n, undefined]);
  expect(asked[0]).toEqual(['facts', NOW_MS - 30 * 86_400_000]);
  expect((await prune(1, [])).asked[0]).toEqual(['facts', NOW_MS - 86_400_000]);
  // Delete nothing where no record is younger: the log stands still, or the clock is ahead.
  expect(history).toEqual([[0, 7n]]);
});
