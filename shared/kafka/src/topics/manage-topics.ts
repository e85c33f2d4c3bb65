import {
  ConfigResourceTypes,
  createTopicsV7,
  describeConfigsV4,
  IncrementalAlterConfigOperationTypes,
  incrementalAlterConfigsV1,
  type metadataV9,
} from '@platformatic/kafka';
import type { Broker } from '../cluster/broker.js';
import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn, retryUntil } from '../cluster/deadline.js';
import { asResponse, isTransient, KafkaRefused, NO_ERROR, nameOfCode } from '../cluster/error-codes.js';
import { TopicMismatch, unavailable } from '../failures.js';
import type { TopicOutcome, TopicSpec } from '../log.js';

const TIMEOUT_MS = 15_000;
/** Brokers that are busy, or have just started, take long for a hundred partitions. */
const CREATE_TIMEOUT_MS = 60_000;
const REPLICAS_FOR_TWO_IN_SYNC = 3;

/** Settings that the design relies on: a service refuses to start if one differs. */
const settingsReliedOn: ReadonlySet<string> = new Set([
  'cleanup.policy',
  'retention.ms',
  'retention.bytes',
  'message.timestamp.type',
  'compression.type',
  'min.insync.replicas',
]);

type ActualTopic = metadataV9.MetadataResponseTopic;

/** Creates missing topics. Leaves existing topics as they are, and reports how they differ from their specs. */
export async function createTopics(cluster: Cluster, specs: readonly TopicSpec[]): Promise<readonly TopicOutcome[]> {
  const before = await findTopics(cluster, specs, deadlineIn(TIMEOUT_MS));
  const deadline = deadlineIn(CREATE_TIMEOUT_MS);
  const missing = specs.filter(({ name }) => !before.has(name));
  if (missing.length > 0) await create(cluster, missing, deadline);
  const found = await retryUntil(deadline, async () => {
    const seen = await findTopics(cluster, specs, deadline);
    if (seen.size < specs.length) throw unavailable('topics were created but are not seen yet');
    return seen;
  });
  const differences = await compare(cluster, specs, found, deadline);
  return specs.map(({ name }) => {
    return { name, outcome: before.has(name) ? 'existed' : 'created', differences: differences.get(name) ?? [] };
  });
}

/** Throws TopicMismatch unless every topic has its spec's partitions and the settings that are relied on. */
export async function verifyTopics(cluster: Cluster, specs: readonly TopicSpec[]): Promise<void> {
  const deadline = deadlineIn(TIMEOUT_MS);
  const found = await findTopics(cluster, specs, deadline);
  const differences = await compare(cluster, specs, found, deadline, (setting) => settingsReliedOn.has(setting));
  const problems = specs.flatMap(
    ({ name }) => differences.get(name)?.map((one) => `topic ${name} has ${one}`) ?? [`topic ${name} is missing`],
  );
  if (problems.length === 0) return;
  throw new TopicMismatch(
    `${problems.join('; ')}. Create missing topics with \`node services/operator/dist/main.js topics\`. The ` +
      "partition count of a topic never changes: correct the setting. Correct a topic's settings in Kafka.",
  );
}

/** Changes settings of a topic. Brokers apply them within moments. Throws LogUnavailable, also if Kafka refuses. */
export async function alterTopic(cluster: Cluster, topic: string, config: TopicSpec['config']): Promise<void> {
  const deadline = deadlineIn(TIMEOUT_MS);
  const configOperation = IncrementalAlterConfigOperationTypes.SET;
  const configs = Object.entries(config).map(([name, value]) => ({ name, value, configOperation }));
  const resources = [{ resourceType: ConfigResourceTypes.TOPIC, resourceName: topic, configs }];
  try {
    await ask(cluster, deadline, (broker) => broker.call(incrementalAlterConfigsV1.api, deadline, resources, false));
  } catch (error) {
    throw unavailable((error as Error).message, error);
  }
}

/** How many partitions the topic has. Throws TopicMismatch when it is missing, LogUnavailable without an answer. */
export async function countPartitions(cluster: Cluster, topic: string, timeoutMs = TIMEOUT_MS): Promise<number> {
  const found = (await findTopics(cluster, [{ name: topic }], deadlineIn(timeoutMs))).get(topic);
  if (found === undefined) throw new TopicMismatch(`topic ${topic} is missing`);
  return found.partitions.length;
}

/** The topics that exist, keyed by name. */
async function findTopics(
  cluster: Cluster,
  topics: readonly Pick<TopicSpec, 'name'>[],
  deadline: Deadline,
): Promise<ReadonlyMap<string, ActualTopic>> {
  const names = topics.map(({ name }) => name);
  const answer = await cluster.metadata(names, deadline);
  const existing = answer.topics.filter(({ errorCode, partitions }) => errorCode === NO_ERROR && partitions.length > 0);
  return new Map(existing.map((topic) => [topic.name, topic]));
}

/** Creates topics. Another process may create them at the same time. */
async function create(cluster: Cluster, specs: readonly TopicSpec[], deadline: Deadline): Promise<void> {
  const topics = specs.map(({ name, partitions, replicationFactor, config }) => ({
    name,
    numPartitions: partitions,
    replicationFactor: replicationFactor ?? -1,
    assignments: [],
    configs: Object.entries(pinned(config, replicationFactor)).map(([key, value]) => ({ name: key, value })),
  }));
  const answer = await ask(cluster, deadline, (broker) => {
    const asked = broker.call(createTopicsV7.api, deadline, topics, TIMEOUT_MS, false);
    return asked.catch(asResponse<createTopicsV7.CreateTopicsResponse>);
  });
  for (const { name, errorCode, errorMessage } of answer.topics) {
    const reason = nameOfCode(errorCode);
    if (errorCode === NO_ERROR || reason === 'TOPIC_ALREADY_EXISTS') continue;
    throw new KafkaRefused(`creating topic ${name} (${errorMessage})`, reason);
  }
}

/** Asks any broker, and asks again if another may answer: a broker may not know a topic yet. */
function ask<T>(cluster: Cluster, deadline: Deadline, call: (broker: Broker) => Promise<T>): Promise<T> {
  return retryUntil(deadline, async () => call(await cluster.anyBroker(deadline)), isTransient);
}

/** The settings of a topic, with those that this package adds if the spec has none. */
function pinned(config: TopicSpec['config'], replicas: number | undefined): Readonly<Record<string, string>> {
  const inSync = replicas !== undefined && { 'min.insync.replicas': replicas >= REPLICAS_FOR_TWO_IN_SYNC ? '2' : '1' };
  return { 'compression.type': 'producer', ...inSync, ...config };
}

/** Keyed by topic: how its partitions and the wanted settings differ from its spec. Leaves out missing topics. */
async function compare(
  cluster: Cluster,
  specs: readonly TopicSpec[],
  found: ReadonlyMap<string, ActualTopic>,
  deadline: Deadline,
  isWanted: (setting: string) => boolean = () => true,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const resources = [...found.keys()].map((name) => ({ resourceType: ConfigResourceTypes.TOPIC, resourceName: name }));
  if (resources.length === 0) return new Map();
  const { results } = await ask(cluster, deadline, (broker) =>
    broker.call(describeConfigsV4.api, deadline, resources, false, false),
  );
  const compared = specs.flatMap(({ name, partitions, config }) => {
    const actual = found.get(name)?.partitions;
    if (actual === undefined) return [];
    const replicas = Math.min(...actual.map(({ replicaNodes }) => replicaNodes.length));
    const counts =
      actual.length === partitions ? [] : [`${actual.length} partitions, expected ${partitions} (PARTITIONS)`];
    const settings = results.find(({ resourceName }) => resourceName === name)?.configs;
    const differing = Object.entries(pinned(config, replicas)).flatMap(([key, expected]) => {
      const value = settings?.find((setting) => setting.name === key)?.value;
      const isMet = key === 'min.insync.replicas' ? Number(value) >= Number(expected) : value === expected;
      return isMet || !isWanted(key) ? [] : [`${key}=${value ?? '(not set)'}, expected ${expected}`];
    });
    return [[name, [...counts, ...differing]] as const];
  });
  return new Map(compared);
}
