import { findFreePorts, type TestAddresses } from '@makerbook/parts';
import { GenericContainer, type StartedTestContainer, Wait } from 'testcontainers';

/** One version of a part, and the live tests of what speaks with it. */
export interface Variant {
  readonly name: string;
  /** Pattern of the test files. */
  readonly tests: string;
  /** @throws Error where the engine does not answer, or the image cannot be had */
  start(): Promise<{ readonly container: StartedTestContainer; readonly addresses: Partial<TestAddresses> }>;
}

const START_MS_MAX = 180_000;

export const variants: readonly Variant[] = [
  ...['apache/kafka:3.9.1', 'apache/kafka:4.0.0', 'apache/kafka:4.3.1'].map(
    (image): Variant => ({ name: image, tests: 'shared/kafka', start: () => startKafka(image) }),
  ),
  ...['postgres:15', 'postgres:16', 'postgres:17', 'postgres:18'].map(
    (image): Variant => ({ name: image, tests: 'shared/postgres', start: () => startPostgres(image) }),
  ),
  ...['redis:7.2', 'redis:8.2', 'valkey/valkey:7.2', 'valkey/valkey:8.1'].map(
    (image): Variant => ({ name: image, tests: 'shared/redis', start: () => startRedis(image) }),
  ),
];

/** One broker on the machine's network, so that it announces the address at which it is reached. */
async function startKafka(image: string) {
  const [port = 0, controllerPort = 0] = await findFreePorts(2);
  const brokers = `127.0.0.1:${port}`;
  const controller = `127.0.0.1:${controllerPort}`;
  const container = await new GenericContainer(image)
    .withNetworkMode('host')
    .withEnvironment({
      KAFKA_NODE_ID: '1',
      KAFKA_PROCESS_ROLES: 'broker,controller',
      KAFKA_LISTENERS: `PLAINTEXT://${brokers},CONTROLLER://${controller}`,
      KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://${brokers}`,
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
      KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
      KAFKA_CONTROLLER_QUORUM_VOTERS: `1@${controller}`,
      KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
      KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
      KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: '1',
      KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: '1',
      KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
    })
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .withStartupTimeout(START_MS_MAX)
    .start();
  return { container, addresses: { kafkaBrokers: brokers } };
}

async function startPostgres(image: string) {
  const container = await new GenericContainer(image)
    .withEnvironment({ POSTGRES_USER: 'makerbook', POSTGRES_PASSWORD: 'makerbook', POSTGRES_DB: 'makerbook' })
    .withExposedPorts(5432)
    // The second time: the first is of the server that sets up the database.
    .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2))
    .withStartupTimeout(START_MS_MAX)
    .start();
  const address = `${container.getHost()}:${container.getMappedPort(5432)}`;
  return { container, addresses: { postgresUrl: `postgres://makerbook:makerbook@${address}/makerbook` } };
}

async function startRedis(image: string) {
  const container = await new GenericContainer(image)
    .withExposedPorts(6379)
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
    .withStartupTimeout(START_MS_MAX)
    .start();
  return { container, addresses: { redisUrl: `redis://${container.getHost()}:${container.getMappedPort(6379)}/0` } };
}
