import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { readOptions, refuseWords } from '@makerbook/settings';
import { readWhole } from '../kit/read-values.js';
import { type BenchOptions, type Figure, formatFigures, isMissed, recordFigures } from './report.js';

/** Runs one bench, or each in a process of its own so that none warms up or litters another, and prints the figures. */
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
  --against <folder>: another checkout, built; post, list and catch-up measure its services in turn with these
  --minutes <count>: how long sustained goes on, 30 by default`;
const { values, name } = readOptions(
  USAGE,
  {
    quick: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    against: { type: 'string' },
    minutes: { type: 'string', default: '30' },
  },
  Object.keys(benches),
);
if (values.quick && values.record) refuseWords('the figures of a quick run are not recorded');
const minutes = readWhole('--minutes', values.minutes, 1);
const one = name === undefined ? undefined : benches[name];
if (name === undefined || one === undefined) await runAll();
else await runOne(name, one);

async function runOne(wanted: string, bench: (options: BenchOptions) => Promise<readonly Figure[]>): Promise<void> {
  const measured = await bench({ isQuick: values.quick, against: values.against, minutes });
  if (values.record) recordFigures(wanted, measured);
  console.log(`\n${formatFigures(measured)}`);
  if (values.check && measured.some(isMissed)) process.exitCode ||= 3;
}

async function runAll(): Promise<void> {
  let child: ChildProcess | undefined;
  let isStopping = false;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      isStopping = true;
      child?.kill(signal);
    });
  }
  for (const bench of Object.keys(benches)) {
    console.log(`\n== ${bench}`);
    child = spawn(process.execPath, [fileURLToPath(import.meta.url), bench, ...process.argv.slice(2)], {
      stdio: 'inherit',
    });
    const [code] = await once(child, 'exit');
    if (isStopping) process.exit(1);
    if (code !== 0) process.exitCode = code === 3 ? (process.exitCode ?? 3) : 1;
  }
}
