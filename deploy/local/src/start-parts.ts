import { join } from 'node:path';
import { type Part, planKafkaCluster, startAnvil, startKafka, startPostgres, startRedis } from '@makerbook/parts';
import { KeptPorts } from './keep-ports.js';
import { given, type StackSettings } from './stack-env.js';
import { type Supervised, type Supervision, supervise } from './supervise.js';

const BLOCK_TIME_SECONDS = 1;
/**
 * A dead broker is replaced, or may come back, when its session has ended. Kafka's default is 9 s. Until then, a broker
 * that is started again waits for its former self.
 */
const SHORT_SESSIONS = { 'broker.session.timeout.ms': '1500', 'broker.heartbeat.interval.ms': '250' };

export type Addresses = {
  readonly kafkaBrokers: string;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly rpcUrl: string;
};

/** Where the parts keep their data and their logs. */
export type Folders = { readonly data: string; readonly logs: string };

/** Names the parts that {@link startParts} starts: those without a given address. */
export function namesOfOwnParts(settings: StackSettings): string[] {
  const { KAFKA_BROKERS, DATABASE_URL, REDIS_URL, RPC_URL } = settings;
  const parts = { Kafka: KAFKA_BROKERS, Postgres: DATABASE_URL, Redis: REDIS_URL, 'a chain': RPC_URL };
  return Object.entries(parts).flatMap(([name, address]) => (given(address) === undefined ? [name] : []));
}

/**
 * Starts Kafka, Postgres, Redis and a chain side by side, except those whose address is given.
 * A part that ends is started again at the same address.
 * @param keep takes each part as soon as it runs, even if another one fails
 * @throws PartError of the first part that cannot start
 */
export async function startParts(
  settings: StackSettings,
  { data, logs }: Folders,
  supervision: Supervision,
  keep: (part: Supervised) => void,
): Promise<Addresses> {
  const ports = new KeptPorts(data);
  const log = (name: string) => join(logs, `${name}.log`);
  const keepStarted = async <P extends Part>(name: string, begin: () => Promise<P>): Promise<P> => {
    const part = await supervise(name, begin, supervision);
    keep(part);
    return part.current();
  };
  const start = async <P extends Part>(name: string, begin: (port: number) => Promise<P>): Promise<P> => {
    const port = await ports.take(name);
    return keepStarted(name, () => begin(port));
  };
  const startBrokers = async () => {
    const plan = await planKafkaCluster(
      (nodeId) => join(data, `kafka-${nodeId}`),
      settings.KAFKA_NODES,
      (name) => ports.take(name),
    );
    const starts = plan.map((options, index) => {
      const properties = { ...options.properties, ...SHORT_SESSIONS };
      const own = { ...options, properties, logFile: log(`kafka-${index + 1}`), onProgress };
      return keepStarted(`Kafka-${index + 1}`, () => startKafka(own));
    });
    await Promise.allSettled(starts);
    return (await Promise.all(starts)).map(({ brokers }) => brokers).join(',');
  };
  const onProgress = supervision.report;
  const common = (name: string, port: number) => ({ dataDir: join(data, name), port, logFile: log(name), onProgress });
  const [kafkaBrokers, databaseUrl, redisUrl, rpcUrl] = await allOrFirstFailure([
    given(settings.KAFKA_BROKERS) ??
      (settings.KAFKA_NODES > 1
        ? startBrokers()
        : start('Kafka', (port) => startKafka({ ...common('kafka', port), properties: SHORT_SESSIONS })).then(
            ({ brokers }) => brokers,
          )),
    given(settings.DATABASE_URL) ??
      start('Postgres', (port) => startPostgres(common('postgres', port))).then(({ url }) => url),
    given(settings.REDIS_URL) ?? start('Redis', (port) => startRedis(common('redis', port))).then(({ url }) => url),
    given(settings.RPC_URL) ??
      start('anvil', (port) =>
        startAnvil({ ...common('anvil', port), chainId: settings.CHAIN_ID, blockTimeSeconds: BLOCK_TIME_SECONDS }),
      ).then((part) => part.rpcUrl),
  ]);
  return { kafkaBrokers, databaseUrl, redisUrl, rpcUrl };
}

/** Waits for all: the failure of one must not leave another half started. */
async function allOrFirstFailure(
  promises: [string | Promise<string>, string | Promise<string>, string | Promise<string>, string | Promise<string>],
): Promise<[string, string, string, string]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
