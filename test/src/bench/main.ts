import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { readOptions, readWhole } from '@makerbook/settings';
import { type BenchOptions, type Figure, formatFigures, readReport, writeReport } from './report.js';

/**
 * Runs one bench, or each in a process of its own so that none warms up or litters another; prints the figures and writes
 * them to `.bench/`. The exit code tells of errors alone, never of a missed goal.
 */
const benches: Readonly<Record<string, (options: BenchOptions) => Promise<readonly Figure[]>>> = {
  verify: async (options) => (await import('./verify.js')).benchVerify(options),
  post: async (options) => (await import('./post.js')).benchPost(options),
  cancel: async (options) => (await import('./cancel.js')).benchCancel(options),
  list: async (options) => (await import('./list.js')).benchList(options),
  cores: async (options) => (await import('./cores.js')).benchCores(options),
  latency: async (options) => (await import('./latency.js')).benchLatency(options),
  memory: async (options) => (await import('./memory.js')).benchMemory(options),
  tracing: async (options) => (await import('./tracing.js')).benchTracing(options),
  'patch-quote': async (options) => (await import('./patch-quote.js')).benchPatchQuote(options),
  'catch-up': async (options) => (await import('./catch-up.js')).benchCatchUp(options),
  rebuild: async (options) => (await import('./rebuild.js')).benchRebuild(options),
  scale: async (options) => (await import('./scale.js')).benchScale(options),
  sustained: async (options) => (await import('./sustained.js')).benchSustained(options),
  disk: async (options) => (await import('./disk.js')).benchDisk(options),
  watcher: async (options) => (await import('./watcher.js')).benchWatcher(options),
  'watch-pairs': async (options) => (await import('./watch-pairs.js')).benchWatchPairs(options),
};

const USAGE = `npm run bench [-- <name>] [--quick]
  name: ${Object.keys(benches).join(', ')}; all of them without one
  --quick: a tenth of the samples, to see that it works
  --against <folder>: another checkout, built; post, cancel and list measure its services in turn with these
  --minutes <count>: how long sustained goes on, 30 by default`;
const { values, name } = readOptions(
  USAGE,
  {
    quick: { type: 'boolean', default: false },
    against: { type: 'string' },
    minutes: { type: 'string', default: '30' },
  },
  Object.keys(benches),
);
const one = name === undefined ? undefined : benches[name];
if (name === undefined || one === undefined) await runAll();
else await runOne(name, one);

async function runOne(wanted: string, bench: (options: BenchOptions) => Promise<readonly Figure[]>): Promise<void> {
  const minutes = readWhole(USAGE, '--minutes', values.minutes, 1);
  const figures = await bench({ isQuick: values.quick, against: values.against, minutes });
  writeReport(wanted, values.quick, figures);
  console.log(`\n${formatFigures(figures)}`);
}

async function runAll(): Promise<void> {
  const figures: Figure[] = [];
  const failed: string[] = [];
  let child: ChildProcess | undefined;
  const entry = fileURLToPath(import.meta.url);
  let isStopping = false;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      isStopping = true;
      child?.kill(signal);
    });
  }
  for (const bench of Object.keys(benches)) {
    console.log(`\n== ${bench}`);
    child = spawn(process.execPath, [entry, bench, ...process.argv.slice(2)], { stdio: 'inherit' });
    const [code] = await once(child, 'exit');
    if (isStopping) process.exit(1);
    if (code !== 0) failed.push(bench);
    else figures.push(...readReport(bench).figures.map((each) => ({ ...each, name: `${bench}: ${each.name}` })));
  }
  console.log(`\n== all\n${formatFigures(figures)}`);
  if (failed.length === 0) return;
  console.error(`failed: ${failed.join(', ')}`);
  process.exitCode = 1;
}
