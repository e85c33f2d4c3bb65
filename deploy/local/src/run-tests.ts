import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readWords } from '@makerbook/settings';
import { COUNTS_FILE_VARIABLE, type Counts } from './count-tests.js';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const UNUSED_TRIES = 50;
const UNUSED_WAIT_MS = 200;
/** Files that start a whole stack or several brokers. Two at once make each other miss their time limits. */
const LARGE = '/test/dist/|/kafka/dist/cluster/';
const bin = (name: string) => join(ROOT, 'node_modules', '.bin', name);

const USAGE = `npm test [-- <word> …] [-t <title>] [--unit]
  formatting and lint, unit tests, live tests against real parts and the whole stack
  word: only tests whose path contains one of the words (shared/domain, decide.test.ts), and no formatting and lint
  -t: only tests whose title contains it
  --unit: no live tests
  The last line is \`tests: N passed, N failed\`. Exits with 0 only when nothing failed and something ran.`;
const { values, positionals: words } = readWords(USAGE, {
  title: { type: 'string', short: 't' },
  unit: { type: 'boolean', default: false },
});
/** Words and title as arguments of Jest. The words name sources, but Jest runs their emitted files. */
const chosen = [
  // With -t, a file without a matching test starts its parts too, but Jest does not run its afterAll.
  ...(values.title === undefined ? [] : ['-t', values.title, '--forceExit']),
  ...(words.length === 0 ? [] : ['--', ...words.map(emittedPath)]),
];
const children = new Set<ReturnType<typeof spawn>>();
let isStopping = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    isStopping = true;
    for (const child of children) child.kill(signal);
  });
}
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));

removeOrphans();
const isClean = chosen.length > 0 || (await check());
const results: Counts[] = [];
for (const step of steps()) {
  if (isStopping) break;
  report(step.title);
  results.push(...(await Promise.all(step.runs.map(runJest))));
}
const passed = results.reduce((sum, counts) => sum + counts.passed, 0);
const failed = results.reduce((sum, counts) => sum + counts.failed, 0);
if (!isClean) report('formatting or lint is not clean: `npm run format` fixes most of it');
if (isStopping) report('stopped before the end');
console.log(`tests: ${passed} passed, ${failed} failed`);
process.exit(isClean && !isStopping && failed === 0 && passed > 0 ? 0 : 1);

/** Jest runs the runs of one step side by side. */
function steps(): { title: string; runs: string[][] }[] {
  if (chosen.length > 0) {
    const projects = values.unit ? ['unit'] : ['unit', 'live'];
    const runs = [['--selectProjects', ...projects, ...chosen]];
    return [{ title: `tests: ${process.argv.slice(2).join(' ')}`, runs }];
  }
  const unit = { title: 'unit tests', runs: [['--selectProjects', 'unit', '--maxWorkers=2']] };
  // With a memory limit even a single worker is a process of its own: what a file leaves behind does not hold up Jest.
  const oneByOne = ['--selectProjects', 'live', '--maxWorkers=1', '--workerIdleMemoryLimit=2GB'];
  const live = {
    title: 'live tests: real Kafka, Postgres, Redis and chains, and the whole stack; large ones beside the others',
    runs: [
      [...oneByOne, `--testPathPatterns=${LARGE}`],
      [...oneByOne, '--testPathIgnorePatterns=/node_modules/', `--testPathIgnorePatterns=${LARGE}`],
    ],
  };
  return values.unit ? [unit] : [unit, live];
}

function emittedPath(word: string): string {
  return word.replace(/(^|\/)src(?=\/|$)/, '$1dist').replace(/\.ts$/, '.js');
}

/** Jest would still run the emitted file of a test whose source is gone. */
function removeOrphans(): void {
  const emitted = globSync('*/{,*/}dist/**/*.test.js', { cwd: ROOT, exclude: (name) => name.endsWith('node_modules') });
  for (const file of emitted) {
    const source = file.replace(/(^|\/)dist\//, '$1src/').replace(/\.js$/, '.ts');
    if (!existsSync(join(ROOT, source))) rmSync(join(ROOT, file));
  }
}

async function check(): Promise<boolean> {
  report('formatting and lint');
  return (await run(bin('biome'), ['ci', '--colors=off', '.'])) === 0;
}

async function runJest(args: readonly string[]): Promise<Counts> {
  // Temporary files of the tests go into this folder and are removed with it, even after an interruption.
  const folder = mkdtempSync(join(tmpdir(), 'makerbook-run-'));
  chmodSync(folder, 0o711);
  const file = join(folder, 'counts.json');
  const reporter = join(import.meta.dirname, 'count-tests.js');
  const flags = ['--reporters=default', `--reporters=${reporter}`];
  const node = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', bin('jest')];
  const env = { ...process.env, TMPDIR: folder, [COUNTS_FILE_VARIABLE]: file };
  try {
    const code = await run(process.execPath, [...node, ...flags, ...args], env);
    return readCounts(file, code);
  } finally {
    await removeWhenUnused(folder);
  }
}

/** Waits for the parts of an interrupted run, which are still stopping and write their last files. */
async function removeWhenUnused(folder: string): Promise<void> {
  const isUsed = () => (spawnSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' }).stdout ?? '').includes(folder);
  for (let tries = 0; tries < UNUSED_TRIES && isUsed(); tries += 1) await delay(UNUSED_WAIT_MS);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}

/** A run that fails, writes no counts, or runs no test counts as one failed test. */
function readCounts(file: string, code: number): Counts {
  try {
    const counts = JSON.parse(readFileSync(file, 'utf8')) as Counts;
    return counts.failed === 0 && (code !== 0 || counts.passed === 0) ? { ...counts, failed: 1 } : counts;
  } catch {
    return { passed: 0, failed: 1 };
  }
}

function run(command: string, args: readonly string[], env = process.env): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(command, [...args], { cwd: ROOT, env, stdio: ['ignore', 'inherit', 'inherit'] });
    children.add(child);
    const end = (code: number | null) => {
      children.delete(child);
      resolve(code ?? 1);
    };
    child.once('exit', end);
    child.once('error', () => end(1));
  });
}

function report(title: string): void {
  console.error(`\n== ${title}`);
}
