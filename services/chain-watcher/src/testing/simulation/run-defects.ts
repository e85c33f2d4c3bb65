import { writeFileSync } from 'node:fs';
import { readOptions, readRange } from '@makerbook/parts';
import { defects } from './defects.js';
import { findDefect, KEPT_RUNS, keptRunOf } from './find-defects.js';

/** Plants each defect and looks for a seed that finds it. Exits with 1 when one is not found. */
const USAGE = `npm run simulate:defects -- [--seeds A..B] [--name TEXT] [--keep]
  --seeds: 1..500 if not given; --name: only defects with this text in their names; --keep: writes the actions of the run
  that found it to kept-runs/, where the tests run it again`;
const { values } = readOptions(USAGE, {
  seeds: { type: 'string', default: '1..500' },
  name: { type: 'string', default: '' },
  keep: { type: 'boolean', default: false },
});
for (const defect of defects.filter(({ name }) => name.includes(values.name))) {
  const found = await findDefect(defect, readRange(USAGE, '--seeds', values.seeds));
  if (found === undefined) process.exitCode = 1;
  const line = found === undefined ? `not found in ${values.seeds}` : `seed ${found.plan.seed}: ${found.wrong}`;
  console.log(`${defect.name}\n  ${line.slice(0, 180)}`);
  if (found === undefined || !values.keep) continue;
  writeFileSync(new URL(keptRunOf(defect), KEPT_RUNS), `${JSON.stringify(found.plan, null, 1)}\n`);
}
