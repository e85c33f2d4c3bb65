import { readOptions, refuseWords } from '@makerbook/settings';
import { readWhole } from '../kit/read-values.js';
import { compareCommits, runBench } from './compare-commits.js';
import { type BenchOptions, type Figure, formatFigures, isMissed, ROOT, recordFigures } from './report.js';

/** Benches, keyed by name. Without a name, each runs in its own process, so that none warms up or litters another. */
const benches: Readonly<Record<string, (options: BenchOptions) => Promise<readonly Figure[]>>> = {
  post: async (options) => (await import('./post.js')).benchPost(options),
  list: async (options) => (await import('./list.js')).benchList(options),
  latency: async (options) => (await import('./latency.js')).benchLatency(options),
  'catch-up': async (options) => (await import('./catch-up.js')).benchCatchUp(options),
  scale: async (options) => (await import('./scale.js')).benchScale(options),
  sources: async (options) => (await import('./sources.js')).benchSources(options),
  sustained: async (options) => (await import('./sustained.js')).benchSustained(options),
};

const USAGE = `npm run bench [-- <name>] [--quick] [--check] [--record]
  name: ${Object.keys(benches).join(', ')}; all of them without one
  --quick: a tenth of the samples, to see that it works
  --check: exits with 3 where a goal is missed
  --record: puts the figures into test/src/bench/RESULTS.md
  --against <commit>: measures that commit in turn with this checkout, each with a stack of its own, and compares each figure
  --pairs <count>: how often with --against; 3 by default
  --minutes <count>: how long sustained goes on, 30 by default`;
const { values, name } = readOptions(
  USAGE,
  {
    quick: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    against: { type: 'string' },
    pairs: { type: 'string', default: '3' },
    minutes: { type: 'string', default: '30' },
  },
  Object.keys(benches),
);
const { against } = values;
if (values.quick && values.record && against === undefined) refuseWords('the figures of a quick run are not recorded');
const minutes = readWhole('--minutes', values.minutes, 1);
const pairs = readWhole('--pairs', values.pairs, 1);
const one = name === undefined ? undefined : benches[name];
if (name === undefined || one === undefined) await runAll();
else if (against === undefined) await runOne(name, one);
else await runPairs(name, against);

async function runOne(wanted: string, bench: (options: BenchOptions) => Promise<readonly Figure[]>): Promise<void> {
  report(wanted, await bench({ isQuick: values.quick, minutes }));
}

async function runPairs(wanted: string, commit: string): Promise<void> {
  const words = [wanted, '--minutes', String(minutes), ...(values.quick ? ['--quick'] : [])];
  report(`${wanted} by ${commit}`, await compareCommits(words, { commit, pairs }));
}

function report(heading: string, measured: readonly Figure[]): void {
  if (values.record) recordFigures(heading, measured);
  console.log(`\n${formatFigures(measured)}`);
  if (values.check && measured.some(isMissed)) process.exitCode ||= 3;
}

async function runAll(): Promise<void> {
  for (const bench of Object.keys(benches)) {
    console.log(`\n== ${bench}`);
    const { code } = await runBench(ROOT, [bench, ...process.argv.slice(2)]);
    if (code !== 0) process.exitCode = code === 3 ? (process.exitCode ?? 3) : 1;
  }
}
