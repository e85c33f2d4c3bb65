import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { WatchingCost } from './measure-watching.js';

/**
 * What it costs the chain-watcher to watch 10,000 and 1,000,000 pairs: memory, and CPU per block that touches nobody.
 * Each size runs in a process of its own. The limits are relative to what the same run measures: reading the same
 * block's logs from the node's JSON, which no watcher can do without.
 */

const script = fileURLToPath(new URL('./measure-watching.js', import.meta.url));
const measure = (pairs: number): WatchingCost =>
  JSON.parse(execFileSync(process.execPath, ['--expose-gc', script, String(pairs)], { encoding: 'utf8' }));

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
