import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { readOptions } from '@makerbook/settings';
import type { StartedTestContainer } from 'testcontainers';
import { findRoot } from '../conformance/find-root.js';
import { variants } from './start-variants.js';

const USAGE = `npm run test:matrix -- [--only WORD]
  runs the live tests of an adapter on each version of its part, and checks our own images. Kafka needs Java and Maven alone;
  Postgres and Redis come out of official images, for which a Docker-compatible engine is needed, on Linux (DOCKER_HOST where
  it is not Docker's own socket); our images need podman. An image that cannot be had is left out, and the end says so.
  Exits with 1 where a test failed, or nothing could be run.`;
const { values } = readOptions(USAGE, { only: { type: 'string' } });
// Each container is stopped here; the library's own cleaner is one more image to be pulled.
process.env['TESTCONTAINERS_RYUK_DISABLED'] ??= 'true';

const root = findRoot();
const isWanted = (name: string) => values.only === undefined || name.toLowerCase().includes(values.only.toLowerCase());
const results = new Map<string, 'passed' | 'failed' | `left out: ${string}`>();
let container: StartedTestContainer | undefined;
process.once('SIGINT', () => void container?.stop().finally(() => process.exit(1)));

for (const { name, tests, start } of variants.filter((variant) => isWanted(variant.name))) {
  console.log(`\n== ${name}`);
  try {
    const started = await start();
    container = started.container;
    results.set(name, (await runJest(tests, started.environment)) ? 'passed' : 'failed');
  } catch (error) {
    const [reason = ''] = (error as Error).message.split('\n');
    results.set(name, `left out: ${reason}`);
  } finally {
    await container?.stop();
    container = undefined;
  }
}
if (isWanted('our images')) {
  console.log('\n== our images');
  const isRight = await succeeds([join(root, 'test/dist/containers/check-images.js')], {});
  results.set('our images', isRight ? 'passed' : 'failed');
}
console.table(Object.fromEntries([...results].map(([name, result]) => [name, { result }])));
const all = [...results.values()];
process.exit(all.includes('passed') && !all.includes('failed') ? 0 : 1);

function runJest(tests: string, environment: Readonly<Record<string, string>>): Promise<boolean> {
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const jest = ['--forceExit', '--selectProjects', 'live', '--testPathPatterns', tests];
  return succeeds([...flags, join(root, 'node_modules/.bin/jest'), ...jest], environment);
}

async function succeeds(words: readonly string[], environment: Readonly<Record<string, string>>): Promise<boolean> {
  const env = { ...process.env, ...environment };
  const [code] = (await once(spawn(process.execPath, words, { cwd: root, env, stdio: 'inherit' }), 'exit')) as [
    unknown,
  ];
  return code === 0;
}
