import { endWithUsage, readOptions } from '@makerbook/parts';

/**
 * Runs one bench and prints its tables. The exit code tells of errors, and of a bench's own limits where it names some;
 * README.md says which.
 */
const benches: Readonly<Record<string, (isQuick: boolean) => Promise<unknown>>> = {
  verify: async (isQuick) => (await import('./verify.js')).benchVerify(isQuick),
  post: async (isQuick) => (await import('./post.js')).benchPost(isQuick),
  latency: async (isQuick) => (await import('./latency.js')).benchLatency(isQuick),
  list: async (isQuick) => (await import('./list.js')).benchList(isQuick),
  memory: async (isQuick) => (await import('./memory.js')).benchMemory(isQuick),
  tracing: async (isQuick) => (await import('./tracing.js')).benchTracing(isQuick),
  'patch-quote': () => import('./patch-quote.js'),
  rebuild: async (isQuick) => (await import('./rebuild.js')).benchRebuild(isQuick),
  watcher: async (isQuick) => (await import('./watcher.js')).benchWatcher(isQuick),
  'watch-pairs': () => import('./watch-pairs.js'),
};

const USAGE = `npm run bench -- <name> [--quick]
  name: ${Object.keys(benches).join(', ')}; --quick: a tenth of the samples, to see that it works`;
const { values, name } = readOptions(USAGE, { quick: { type: 'boolean', default: false } }, true);
const bench = name === undefined ? undefined : benches[name];
if (bench === undefined) endWithUsage(USAGE, 'which bench?');
await bench(values.quick);
