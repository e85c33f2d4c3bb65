import { makeFolderOrRefuse, readOptions } from '@makerbook/settings';
import { readRange, readWhole } from '../kit/read-values.js';

const USAGE = `npm run simulate -- [--seed N | --seeds A..B] [--failures N] [--keep FOLDER]
npm run simulate -- --defects [--seeds A..B] [--name TEXT] [--keep FOLDER]
  runs the whole service in memory, and ends with 1 where a seed finds something wrong. --seed: with all that happens, line by
  line; --seeds: 1..1000 if not given; --failures: ends after so many, 10 if not given; --keep: writes the actions of each
  failing run, without those that it does not need.
  --defects: plants one defect after another, names the first seed that finds it, of 1..200 if not given, and ends with 1 where
  none does. --name: only defects with this text in their names; --keep test/kept-runs: writes the actions that it needs, which
  the tests run again`;
const { values } = readOptions(USAGE, {
  seed: { type: 'string' },
  seeds: { type: 'string' },
  failures: { type: 'string', default: '10' },
  keep: { type: 'string' },
  defects: { type: 'boolean', default: false },
  name: { type: 'string', default: '' },
});
const { seed, keep, defects, name } = values;
const failuresMax = readWhole('--failures', values.failures, 1);
const seeds = readRange(
  seed === undefined ? '--seeds' : '--seed',
  seed ?? values.seeds ?? (defects ? '1..200' : '1..1000'),
);
if (keep !== undefined) makeFolderOrRefuse(keep);
const isRight = defects
  ? await (await import('./run-defects.js')).runDefects([...seeds], name, keep)
  : await (await import('./run-seeds.js')).runSeeds(seeds, { failuresMax, keep, isTraced: seed !== undefined });
process.exitCode = isRight ? 0 : 1;
