import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { WatchingCost } from './measure-watching.js';
import { type BenchOptions, compare, type Figure, state } from './report.js';

const script = fileURLToPath(new URL('./measure-watching.js', import.meta.url));
const measure = (pairs: number): WatchingCost =>
  JSON.parse(execFileSync(process.execPath, ['--expose-gc', script, String(pairs)], { encoding: 'utf8' }));

/**
 * What it costs the chain-watcher to watch 10,000 and 1,000,000 pairs: memory, and CPU per block that touches nobody.
 * Each size runs in a process of its own.
 */
export async function benchWatchPairs({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const rounds = Array.from({ length: isQuick ? 1 : 3 }, () => ({ few: measure(10_000), many: measure(1_000_000) }));
  const by = (value: (many: WatchingCost) => number, floor: (round: Round) => number) =>
    rounds.map((round) => ({ value: value(round.many), floor: floor(round) }));
  const { rssMegabytes = Number.NaN, blockLogs = Number.NaN } = rounds[0]?.many ?? {};
  return [
    compare(
      'memory of a pair of a million, by one of ten thousand',
      'bytes',
      by(
        ({ bytesPerPair }) => bytesPerPair,
        ({ few }) => few.bytesPerPair,
      ),
      { ratioMax: 1.2 },
    ),
    state('memory of the process with a million pairs', 'MB', rssMegabytes),
    compare(
      `match ${blockLogs} logs of strangers, by reading them from JSON`,
      'µs of CPU',
      by(
        ({ matchMicroseconds }) => matchMicroseconds,
        ({ many }) => many.parseMicroseconds,
      ),
      { ratioMax: 1 },
    ),
    compare(
      'a block for a million pairs, by one for ten thousand',
      'µs of CPU',
      by(blockCost, ({ few }) => blockCost(few)),
      { ratioMax: 3 },
    ),
  ];
}

interface Round {
  readonly few: WatchingCost;
  readonly many: WatchingCost;
}

/** CPU that a block takes which touches nobody, without reading it. */
function blockCost({ clockMicroseconds, matchMicroseconds }: WatchingCost): number {
  return clockMicroseconds + matchMicroseconds;
}
