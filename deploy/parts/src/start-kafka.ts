import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type FetchedJars, fetchJars } from './fetch-jars.js';
import { findFreePort } from './find-free-ports.js';
import { type Part, PartError, requireFreePort, spawnPart, waitUntilReady } from './spawn-part.js';

const run = promisify(execFile);
const START_TIMEOUT_MS = 180_000;
const PROBE_TIMEOUT_MS = 2_000;
const JVM_OPTIONS = ['-Xmx512m', '-XX:+UseSerialGC', '-Djava.awt.headless=true'];

export type KafkaPart = Part & {
  /** `host:port`, as clients take it. */
  readonly brokers: string;
};

export type KafkaOptions = {
  /** Absolute path; created when missing. */
  readonly dataDir: string;
  readonly port: number;
  readonly logFile?: string;
  readonly onProgress?: (line: string) => void;
  /** The broker's place among several. Absent: it is alone. */
  readonly cluster?: ClusterNode;
  /** Override the properties that every broker here has. */
  readonly properties?: Readonly<Record<string, string>>;
  /** Arguments for the tool that formats an empty data folder, such as `--add-scram` with a user. */
  readonly formatArguments?: readonly string[];
};

/** A broker's place in its cluster. */
export type ClusterNode = {
  /** Counted from 1. */
  readonly nodeId: number;
  readonly brokers: number;
  readonly clusterId: string;
  /** Ports of the KRaft controllers: the first nodes are controllers too, one per port. May change at each start. */
  readonly controllerPorts: readonly number[];
};

/** Three controllers keep a majority if one is killed. */
const CONTROLLERS_MAX = 3;
const IN_SYNC = 2;

/**
 * Plans a cluster that can lose any one broker. The first three brokers are controllers too, and with three brokers
 * each write is on two. Use the same plan to start a broker again. A broker that hangs leaves the in-sync replicas when
 * its session ends, after 9 s.
 * @returns the options to start each broker
 */
export async function planKafkaCluster(
  dataDir: (nodeId: number) => string,
  brokers: number,
  takePort: (name: string) => Promise<number> = findFreePort,
): Promise<readonly KafkaOptions[]> {
  const take = async (name: string, count: number) => {
    const ports: number[] = [];
    for (let nodeId = 1; nodeId <= count; nodeId += 1) ports.push(await takePort(`${name}-${nodeId}`));
    return ports;
  };
  const controllerPorts = await take('controller', Math.min(CONTROLLERS_MAX, brokers));
  const ports = await take('Kafka', brokers);
  const clusterId = randomBytes(16).toString('base64url');
  const inSync = brokers > IN_SYNC ? IN_SYNC : 1;
  const properties = {
    'min.insync.replicas': String(inSync),
    'transaction.state.log.min.isr': String(inSync),
  };
  return ports.map((port, index) => {
    const nodeId = index + 1;
    return { dataDir: dataDir(nodeId), port, cluster: { nodeId, brokers, clusterId, controllerPorts }, properties };
  });
}

/**
 * Starts one broker of Apache Kafka in KRaft mode on the loopback address, alone or in a cluster. It has transactions
 * and groups, and never creates a topic by itself. Resolves when the broker answers requests.
 * @throws PartError if Java or Maven is missing, or the data folder is not Kafka's
 */
export async function startKafka(options: KafkaOptions): Promise<KafkaPart> {
  const { dataDir, port } = options;
  await requireFreePort('Kafka', port);
  const jars = await fetchJars(options.onProgress);
  const cluster = options.cluster ?? (await aloneInCluster());
  mkdirSync(dataDir, { recursive: true });
  const properties = join(dataDir, 'server.properties');
  writeFileSync(properties, serverProperties(dataDir, port, cluster, options.properties));
  const log4j = join(dataDir, 'log4j2.yaml');
  writeFileSync(log4j, LOG4J);
  const java = [...JVM_OPTIONS, `-Dlog4j2.configurationFile=${log4j}`, '-cp', join(jars.folder, '*')];
  await formatStorage(jars, dataDir, properties, [
    `--cluster-id=${cluster.clusterId}`,
    ...(options.formatArguments ?? []),
  ]);

  const part = spawnPart({
    name: 'Kafka',
    command: 'java',
    args: [...java, 'kafka.Kafka', properties],
    logFile: options.logFile ?? `${dataDir}.log`,
    stopTimeoutMs: 20_000,
  });
  try {
    await waitUntilReady(part, () => answersApiVersions(port), START_TIMEOUT_MS);
  } catch (error) {
    if (error instanceof PartError) throw explainFailure(error, dataDir);
    throw error;
  }
  return { ...part, brokers: `127.0.0.1:${port}` };
}

async function aloneInCluster(): Promise<ClusterNode> {
  const controllerPorts = [await findFreePort()];
  return { nodeId: 1, brokers: 1, clusterId: randomBytes(16).toString('base64url'), controllerPorts };
}

async function formatStorage(
  jars: FetchedJars,
  dataDir: string,
  properties: string,
  given: readonly string[],
): Promise<void> {
  if (existsSync(join(dataDir, 'log', 'meta.properties'))) return;
  const tool = ['-Xmx128m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', join(jars.folder, '*')];
  const args = [...tool, 'kafka.tools.StorageTool', 'format', ...given, '--config', properties];
  try {
    await run('java', args);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new PartError(
        'Kafka',
        'Java is missing (Kafka runs on it): install version 17 or later, for example with `apt-get install -y openjdk-17-jre-headless`',
      );
    }
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new PartError(
      'Kafka',
      `Kafka cannot use its data folder ${dataDir}: move it away and start again`,
      `${stdout}${stderr}`.trimEnd(),
    );
  }
}

function serverProperties(
  dataDir: string,
  port: number,
  { nodeId, brokers, controllerPorts }: ClusterNode,
  properties: Readonly<Record<string, string>> = {},
): string {
  const controllerPort = controllerPorts[nodeId - 1];
  const isController = controllerPort !== undefined;
  const replicas = Math.min(3, brokers);
  const lines: Record<string, string | number> = {
    'process.roles': isController ? 'broker,controller' : 'broker',
    'node.id': nodeId,
    'controller.quorum.voters': controllerPorts.map((at, index) => `${index + 1}@127.0.0.1:${at}`).join(','),
    'controller.listener.names': 'CONTROLLER',
    listeners: `PLAINTEXT://127.0.0.1:${port}${isController ? `,CONTROLLER://127.0.0.1:${controllerPort}` : ''}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
    'log.dirs': join(dataDir, 'log'),
    'auto.create.topics.enable': 'false',
    'num.partitions': 1,
    'default.replication.factor': replicas,
    'min.insync.replicas': 1,
    // Between brokers: a transaction's end, and its readers, wait this long for a broker that hangs.
    'request.timeout.ms': 3000,
    // Keep the partitions of internal topics few: each costs files and start time.
    'offsets.topic.replication.factor': replicas,
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': 1,
    'transaction.state.log.num.partitions': 4,
    'share.coordinator.state.topic.replication.factor': replicas,
    'share.coordinator.state.topic.min.isr': 1,
    'share.coordinator.state.topic.num.partitions': 1,
    // A group of one consumer need not wait 3 s for others to join.
    'group.initial.rebalance.delay.ms': 0,
    'num.network.threads': 2,
    'num.io.threads': 4,
    // The default takes 128 MB of heap at the start.
    'log.cleaner.dedupe.buffer.size': 16 * 1024 * 1024,
    ...properties,
  };
  return Object.entries(lines)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

const LOG4J = `Configuration:
  status: ERROR
  Appenders:
    Console:
      name: STDOUT
      PatternLayout:
        pattern: "%d{ISO8601} %p %m (%c{1})%n"
  Loggers:
    Root:
      level: WARN
      AppenderRef:
        ref: STDOUT
    Logger:
      - name: kafka.server.KafkaRaftServer
        level: INFO
      - name: kafka.server.BrokerServer
        level: INFO
      - name: kafka.server.KafkaConfig
        level: ERROR
      - name: org.apache.kafka.storage.internals.log.UnifiedLog
        level: WARN
`;

/**
 * True if the broker answers the protocol's first request (ApiVersions, version 0). It does so only when it is ready
 * for all others.
 */
function answersApiVersions(port: number): Promise<boolean> {
  const request = Buffer.alloc(14);
  request.writeInt32BE(10, 0);
  request.writeInt16BE(18, 4);
  request.writeInt16BE(0, 6);
  request.writeInt32BE(1, 8);
  request.writeInt16BE(-1, 12);
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    const answer = (ready: boolean) => {
      socket.destroy();
      resolve(ready);
    };
    socket.setTimeout(PROBE_TIMEOUT_MS, () => answer(false));
    socket.once('data', () => answer(true));
    socket.once('error', () => answer(false));
    socket.once('close', () => resolve(false));
  });
}

function explainFailure({ message, logTail: tail }: PartError, dataDir: string): PartError {
  const lines = tail.split('\n').filter((line) => !/^\s+at /.test(line));
  if (/Failed to acquire lock/.test(tail)) {
    return new PartError('Kafka', `Kafka cannot start: another Kafka runs on ${dataDir}`, lines.join('\n'));
  }
  return new PartError('Kafka', `${message}. If its data folder ${dataDir} is broken, move it away`, lines.join('\n'));
}
