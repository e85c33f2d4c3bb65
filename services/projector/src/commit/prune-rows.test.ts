import { expect, test } from '@jest/globals';
import { type PruneParts, pruneOnce } from './prune-rows.js';

const NOW_MS = 1_700_000_000_123;

/** Deletes rows of a partition, in a step of this size. */
type Statement = readonly [rows: 'history' | 'hashes', partition: number, stepMax: number, before?: bigint];

/** Two partitions, with a log and a Postgres that note their calls. */
function given(historyDays: number, kept: readonly (bigint | undefined)[]) {
  const asked: unknown[] = [];
  const statements: Statement[] = [];
  const warnings: unknown[] = [];
  let fails = (_: Statement) => false;
  const parts: PruneParts = {
    log: {
      offsetsAt: async (topic, timeMs) => {
        asked.push([topic, timeMs]);
        return kept as bigint[];
      },
    },
    postgres: {
      query: async (sql, values) => {
        const [partition, before, stepMax] = values as [number, bigint, number];
        const statement: Statement = sql.includes('order_history')
          ? ['history', partition, stepMax, before]
          : ['hashes', partition, stepMax];
        statements.push(statement);
        if (fails(statement)) throw new Error('statement timeout');
        return [{ rows: 3n, offsets: 0n }] as never;
      },
    },
    makerEventsTopic: 'facts',
    owned: () => [0, 1],
    historyDays,
    intervalMs: 0,
    unixMs: () => NOW_MS,
    pruned: () => undefined,
    logger: { warn: (fields) => void warnings.push(fields) },
  };
  const steps = new Map<string, number>();
  return {
    asked,
    warnings,
    failWhere: (where: typeof fails) => {
      fails = where;
    },
    /** Runs one round. Returns its statements. */
    prune: async () => {
      await pruneOnce(parts, new AbortController().signal, steps);
      return statements.splice(0);
    },
  };
}

test('rows are deleted if their facts were written more than HISTORY_DAYS ago, to the millisecond', async () => {
  const [month, day] = [given(30, [7n, undefined]), given(1, [])];
  const statements = await month.prune();
  await day.prune();
  expect(month.asked).toEqual([['facts', NOW_MS - 30 * 86_400_000]]);
  expect(day.asked).toEqual([['facts', NOW_MS - 86_400_000]]);
  // Nothing is deleted if no record is younger: the log has stopped, or the clock is ahead.
  expect(statements.filter(([rows]) => rows === 'history')).toEqual([['history', 0, 5_000, 7n]]);
});

test('a failed step holds up nothing else, and gets smaller each round until one succeeds', async () => {
  const { prune, failWhere, warnings } = given(30, [7n, 8n]);
  const stepMaxOf = async () => (await prune()).map(([rows, partition, stepMax]) => `${rows} ${partition} ${stepMax}`);
  const others = ['hashes 0 5000', 'history 1 5000', 'hashes 1 5000'];
  failWhere(([rows, partition, stepMax]) => rows === 'history' && partition === 0 && stepMax > 400);
  for (const stepMax of [5000, 1250, 313, 5000]) {
    expect(await stepMaxOf()).toEqual([`history 0 ${stepMax}`, ...others]);
  }
  expect(warnings).toHaveLength(3);
  failWhere(() => true);
  for (let round = 0; round < 9; round += 1) await prune();
  expect((await stepMaxOf()).map((one) => one.split(' ').at(-1))).toEqual(['1', '1', '1', '1']);
});
