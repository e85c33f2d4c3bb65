import { KAFKA_VERSION_VARIABLE, TEST_PARTS_VARIABLE, type TestAddresses } from '@makerbook/parts';
import { GenericContainer, type StartedTestContainer, Wait } from 'testcontainers';

/** One version of a part, and the live tests of what speaks with it. */
export interface Variant {
  readonly name: string;
  /** Pattern of the test files. */
  readonly tests: string;
  /** @throws Error where the engine does not answer, or the image cannot be had */
  start(): Promise<StartedVariant>;
}

export interface StartedVariant {
  readonly container?: StartedTestContainer;
  /** The environment by which the tests find the part. */
  readonly environment: Readonly<Record<string, string>>;
}

const START_MS_MAX = 180_000;

export const variants: readonly Variant[] = [
  // Processes, as Maven has every version: so the tests that kill brokers run on it too.
  ...['3.9.1', '4.0.0', '4.3.1'].map(
    (version): Variant => ({
      name: `Kafka ${version}`,
      tests: 'shared/kafka|services/projector/dist/(own|run)',
      start: async () => ({ environment: { [KAFKA_VERSION_VARIABLE]: version } }),
    }),
  ),
  ...['postgres:15', 'postgres:16', 'postgres:17', 'postgres:18'].map(
    (image): Variant => ({ name: image, tests: 'shared/postgres', start: () => startPostgres(image) }),
  ),
  ...['redis:7.2', 'redis:8.2', 'valkey/valkey:7.2', 'valkey/valkey:8.1'].map(
    (image): Variant => ({ name: image, tests: 'shared/redis', start: () => startRedis(image) }),
  ),
];

async function startPostgres(image: string): Promise<StartedVariant> {
  const container = await new GenericContainer(image)
    .withEnvironment({ POSTGRES_USER: 'makerbook', POSTGRES_PASSWORD: 'makerbook', POSTGRES_DB: 'makerbook' })
    .withExposedPorts(5432)
    // The second time: the first is of the server that sets up the database.
    .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2))
    .withStartupTimeout(START_MS_MAX)
    .start();
  const address = `${container.getHost()}:${container.getMappedPort(5432)}`;
  const postgresUrl = `postgres://makerbook:makerbook@${address}/makerbook`;
  return { container, environment: addressesOf({ postgresUrl }) };
}

async function startRedis(image: string): Promise<StartedVariant> {
  const container = await new GenericContainer(image)
    .withExposedPorts(6379)
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
    .withStartupTimeout(START_MS_MAX)
    .start();
  const redisUrl = `redis://${container.getHost()}:${container.getMappedPort(6379)}/0`;
  return { container, environment: addressesOf({ redisUrl }) };
}

/** What is not given is started as a process. */
function addressesOf(addresses: Partial<TestAddresses>): StartedVariant['environment'] {
  return { [TEST_PARTS_VARIABLE]: JSON.stringify(addresses) };
}
