import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { findFreePorts, type Part, startAnvil, startKafka, startPostgres, startRedis } from '@makerbook/parts';
import { describeParts } from '../containers/open-parts.js';

/** The ports at which pods find each part by its name. The policies of `small` allow these. */
const PORTS = { kafka: 9092, postgres: 5432, redis: 6379, chain: 8551 } as const;

interface Running {
  part: Part;
  readonly start: () => Promise<Part>;
  readonly dataDir: string;
}

export type ClusterParts = Awaited<ReturnType<typeof openClusterParts>>;

/**
 * Starts Kafka, Postgres, Redis and a chain as processes of this machine. Pods reach them at an address of the machine,
 * and tests at the loopback address.
 * @param folder for their data
 */
export async function openClusterParts(folder: string, address: string) {
  const closing: (() => unknown)[] = [];
  const stop = async () => {
    for (const close of closing.splice(0).reverse()) await close();
  };
  const running = new Map<string, Running>();
  const begin = async <T extends Part>(dataDir: string, start: (dataDir: string) => Promise<T>): Promise<T> => {
    const at = join(folder, dataDir);
    const part = await start(at);
    running.set(part.name, { part, start: () => start(at), dataDir: at });
    closing.push(() => running.get(part.name)?.part.stop());
    return part;
  };
  try {
    const [port = 0, controller = 0, postgresPort = 0, redisPort = 0] = await findFreePorts(4);
    const own = `PLAINTEXT://127.0.0.1:${port}`;
    const clusterId = randomBytes(16).toString('base64url');
    const kafka = await begin('kafka', (dataDir) =>
      startKafka({
        dataDir,
        port,
        cluster: { nodeId: 1, brokers: 1, clusterId, controllerPorts: [controller] },
        properties: {
          listeners: `${own},CONTROLLER://127.0.0.1:${controller},PODS://${address}:${PORTS.kafka}`,
          'advertised.listeners': `${own},PODS://kafka:${PORTS.kafka}`,
          'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PODS:PLAINTEXT',
          'inter.broker.listener.name': 'PLAINTEXT',
        },
      }),
    );
    const postgres = await begin('postgres', (dataDir) => startPostgres({ dataDir, port: postgresPort }));
    const redis = await begin('redis', (dataDir) => startRedis({ dataDir, port: redisPort }));
    const chain = await startAnvil({ chainId: 8217, blockTimeSeconds: 1 });
    closing.push(() => chain.stop());
    const forwards = [
      [PORTS.postgres, postgresPort],
      [PORTS.redis, redisPort],
      [PORTS.chain, Number(new URL(chain.rpcUrl).port)],
    ] as const;
    for (const [from, to] of forwards) {
      const server = await forward(address, from, to);
      closing.push(() => server.close());
    }
    const addresses = { kafkaBrokers: kafka.brokers, databaseUrl: postgres.url, redisUrl: redis.url };
    const manifests = (names: readonly (keyof typeof PORTS)[]) => names.flatMap(serviceAt);
    return { ...(await describeParts(addresses, chain)), manifests, restart, stop };
  } catch (error) {
    await stop();
    throw error;
  }

  /** Kills Kafka, Postgres or Redis, and starts it again, on its data or without any. */
  async function restart(name: string, isEmpty = false): Promise<void> {
    const killed = running.get(name);
    if (killed === undefined) throw new Error(`${name} does not run`);
    killed.part.kill('SIGKILL');
    await killed.part.exited;
    if (isEmpty) rmSync(killed.dataDir, { recursive: true });
    killed.part = await killed.start();
  }

  /** A name in the namespace for a port of this machine. */
  function serviceAt(name: keyof typeof PORTS): object[] {
    const ports = [{ port: PORTS[name], protocol: 'TCP' }];
    const labels = { 'kubernetes.io/service-name': name };
    return [
      { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { ports } },
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name, labels },
        addressType: 'IPv4',
        ports,
        endpoints: [{ addresses: [address] }],
      },
    ];
  }
}

async function forward(address: string, from: number, to: number): Promise<Server> {
  const server = createServer({ noDelay: true }, (client) => {
    const part = connect({ port: to, host: '127.0.0.1', noDelay: true });
    pipeline(client, part, client, () => undefined);
  });
  await once(server.listen(from, address), 'listening');
  return server;
}
