import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inTurn } from './compare-services.js';
import { compare, type Figure, ROOT, readFigures } from './report.js';

/** The exit code and the standard output of a bench that ran in a child process. */
export interface Ran {
  readonly code: number;
  readonly output: string;
}

/**
 * Runs a bench with a checkout's own code, in a child process, so that no bench warms up or litters another. Installs
 * and builds the checkout if needed. The output goes to the terminal as well. A signal ends the bench, and then this
 * process.
 */
export async function runBench(checkout: string, words: readonly string[]): Promise<Ran> {
  const bootstrap = [join(checkout, 'deploy/local/bootstrap.mjs'), '--needs=java,maven', 'test/dist/bench/main.js'];
  const child = spawn(process.execPath, [...bootstrap, ...words], { stdio: ['inherit', 'pipe', 'inherit'] });
  let isStopping = false;
  const stop = (signal: NodeJS.Signals) => {
    isStopping = true;
    child.kill(signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, stop);
  let output = '';
  child.stdout.on('data', (data: Buffer) => {
    output += data;
    process.stdout.write(data);
  });
  const [code] = await once(child, 'close');
  if (isStopping) process.exit(1);
  for (const signal of signals) process.off(signal, stop);
  return { code: code ?? 1, output };
}

/**
 * Runs a bench in this checkout and in one of another commit, in turns. Each has its own code, stack, log and database.
 * @returns the figures of this checkout by those of the commit, for rows that both have with something to compare
 * @throws Error if a bench fails
 */
export async function compareCommits(
  words: readonly string[],
  { commit, pairs }: { readonly commit: string; readonly pairs: number },
): Promise<readonly Figure[]> {
  const sides = [{ checkout: ROOT }, { checkout: checkOut(commit) }] as const;
  const taken = new Map<(typeof sides)[number], (readonly Figure[])[]>(sides.map((side) => [side, []]));
  for (let pair = 0; pair < pairs; pair += 1) {
    for (const side of inTurn(sides, pair)) {
      console.log(`\n== pair ${pair + 1} of ${pairs}, ${side.checkout}`);
      const { code, output } = await runBench(side.checkout, words);
      if (code !== 0) throw new Error(`the bench in ${side.checkout} ended with ${code}`);
      taken.get(side)?.push(readFigures(output));
    }
  }
  const [these, those] = sides.map((side) => taken.get(side) ?? []);
  return comparePairs(these ?? [], those ?? []);
}

/** A row for each name that both have in every pair, with values above zero. */
export function comparePairs(
  these: readonly (readonly Figure[])[],
  those: readonly (readonly Figure[])[],
): readonly Figure[] {
  return (these[0] ?? []).flatMap(({ name, unit }) => {
    const valueIn = (figures: readonly Figure[] | undefined) => figures?.find((one) => one.name === name)?.value ?? 0;
    const samples = these.map((figures, pair) => ({ value: valueIn(figures), floor: valueIn(those[pair]) }));
    return samples.every(({ value, floor }) => value > 0 && floor > 0) ? [compare(name, unit, samples)] : [];
  });
}

/** Makes a worktree of the commit in the folder for temporary files. The next run finds it again. */
function checkOut(commit: string): string {
  const git = (...words: string[]) => execFileSync('git', words, { cwd: ROOT, encoding: 'utf8' }).trim();
  const hash = git('rev-parse', '--verify', `${commit}^{commit}`);
  const folder = join(tmpdir(), `makerbook-bench-${hash.slice(0, 12)}`);
  git('worktree', 'prune');
  if (!existsSync(folder)) git('worktree', 'add', '--detach', folder, hash);
  return folder;
}
