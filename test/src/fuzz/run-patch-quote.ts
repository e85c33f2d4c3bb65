import { readOptions, readWhole } from '@makerbook/settings';
import { fuzzPatchQuote } from './patch-quote.js';

const USAGE = `npm run fuzz:patch -- [--seed N] [--count N] [--only N]
  seed 1 and 200000 payloads if not said; --only: payload N of the seed alone`;
const { values } = readOptions(USAGE, {
  seed: { type: 'string', default: '1' },
  count: { type: 'string', default: '200000' },
  only: { type: 'string' },
});
const startedAt = performance.now();
const report = await fuzzPatchQuote({
  seed: readWhole(USAGE, '--seed', values.seed),
  count: readWhole(USAGE, '--count', values.count, 1),
  ...(values.only === undefined ? {} : { only: readWhole(USAGE, '--only', values.only) }),
});
console.log(JSON.stringify({ ...report, seconds: Math.round((performance.now() - startedAt) / 1000) }, undefined, 2));
process.exitCode = report.failures.length === 0 ? 0 : 1;
