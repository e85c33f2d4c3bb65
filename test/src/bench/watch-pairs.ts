import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * What it costs the chain-watcher to watch 10,000 and 1,000,000 pairs: memory, and CPU per block that touches nobody.
 * Each size runs in a process of its own. The limits are relative to what the same run measures: reading the same
 * block's logs from the node's JSON, which no watcher can do without.
 */
interface WatchingCost {
  readonly pairs: number;
  readonly bytesPerPair: number;
  readonly rssMegabytes: number;
  readonly openMicroseconds: number;
  readonly clockMicroseconds: number;
  readonly blockLogs: number;
  readonly matchMicroseconds: number;
  readonly matchTouchingMicroseconds: number;
  readonly parseMicroseconds: number;
}

let root = dirname(fileURLToPath(import.meta.url));
while (!existsSync(join(root, 'turbo.json'))) root = dirname(root);
const script = join(root, 'services/chain-watcher/dist/testing/measure-watching.js');
const measure = (pairs: number) =>
  JSON.parse(
    execFileSync(process.execPath, ['--expose-gc', script, String(pairs)], { encoding: 'utf8' }),
  ) as WatchingCost;

const few = measure(10_000);
const many = measure(1_000_000);
console.table(
  [few, many].map((cost) => ({
    pairs: cost.pairs,
    'bytes per pair': cost.bytesPerPair,
    'RSS, MB': cost.rssMegabytes,
    'open a pair, µs': round(cost.openMicroseconds),
    'block clock, µs': round(cost.clockMicroseconds),
    [`match ${cost.blockLogs} logs of strangers, µs`]: round(cost.matchMicroseconds),
    [`match ${cost.blockLogs} logs that touch, µs`]: round(cost.matchTouchingMicroseconds),
    'read them from JSON, µs': round(cost.parseMicroseconds),
  })),
);
const limits: readonly (readonly [string, number, number])[] = [
  ['bytes per pair at a million', many.bytesPerPair, 600],
  ['matching strangers, by reading their logs', many.matchMicroseconds / many.parseMicroseconds, 1],
  ['a block for a million pairs, by one for ten thousand', blockCost(many) / blockCost(few), 3],
];
for (const [what, value, limit] of limits) {
  console.log(`${value <= limit ? 'ok  ' : 'OVER'} ${what}: ${round(value)}, at most ${limit}`);
  if (value > limit) process.exitCode = 1;
}

/** CPU that a block takes which touches nobody, without reading it. */
function blockCost({ clockMicroseconds, matchMicroseconds }: WatchingCost): number {
  return clockMicroseconds + matchMicroseconds;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
