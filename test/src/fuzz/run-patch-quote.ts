import { parseArgs } from 'node:util';
import { fuzzPatchQuote } from './patch-quote.js';

/** `npm run fuzz:patch -- --seed 1 --count 200000`; `--only N` repeats payload N of that seed alone. */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '200000' },
    only: { type: 'string' },
  },
});
const startedAt = performance.now();
const { failures, ...report } = await fuzzPatchQuote({
  seed: Number(values.seed),
  count: Number(values.count),
  ...(values.only === undefined ? {} : { only: Number(values.only) }),
});
console.log(JSON.stringify({ ...report, seconds: Math.round((performance.now() - startedAt) / 1000) }, undefined, 2));
for (const failure of failures) console.error(failure);
process.exitCode = failures.length === 0 ? 0 : 1;
