import { parseArgs } from 'node:util';

/**
 * `npm run bench -- <name>`: runs one bench and prints its tables. `--quick` takes a tenth of the samples, to see that it
 * works. The exit code tells of errors, and of a bench's own limits where it names some; README.md says which.
 */
const benches: Readonly<Record<string, (isQuick: boolean) => Promise<unknown>>> = {
  verify: async (isQuick) => (await import('./verify.js')).benchVerify(isQuick),
  post: async (isQuick) => (await import('./post.js')).benchPost(isQuick),
  latency: async (isQuick) => (await import('./latency.js')).benchLatency(isQuick),
  list: async (isQuick) => (await import('./list.js')).benchList(isQuick),
  memory: async (isQuick) => (await import('./memory.js')).benchMemory(isQuick),
  'patch-quote': () => import('./patch-quote.js'),
  'watch-pairs': () => import('./watch-pairs.js'),
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false } },
});
const bench = positionals.length === 1 ? benches[positionals[0] ?? ''] : undefined;
if (bench === undefined) {
  console.error(`npm run bench -- <name> [--quick], where <name> is one of: ${Object.keys(benches).join(', ')}`);
  process.exit(1);
}
await bench(values.quick);
