import { TopicsNotAsTold } from './failures.js';
import type { TopicOutcome, TopicSpec } from './log.js';
import type { Connections } from './reach-brokers.js';
import { codes, KafkaRefused } from './speak-kafka.js';
import { deadlineIn, pause } from './wait.js';

const TIMEOUT_MS = 15_000;
const TOPIC_RESOURCE = 2;

interface CreatedTopics {
  readonly topicErrors: readonly {
    readonly topic: string;
    readonly errorCode: number;
    readonly errorMessage?: string;
  }[];
}

interface DescribedConfigs {
  readonly resources: readonly {
    readonly errorCode: number;
    readonly resourceName: string;
    readonly configEntries: readonly { readonly configName: string; readonly configValue: string }[];
  }[];
}

/** Makes the topics that are missing. One that exists is left as it is, and what differs from its spec is said. */
export async function createTopics(
  connections: Connections,
  specs: readonly TopicSpec[],
): Promise<readonly TopicOutcome[]> {
  const deadline = deadlineIn(TIMEOUT_MS);
  const before = await countPartitions(connections, specs);
  const missing = specs.filter(({ name }) => !before.has(name));
  const raced = new Set<string>();
  if (missing.length > 0) {
    const controller = await connections.controller(deadline);
    const answer = await controller.call<CreatedTopics>(
      'CreateTopics',
      {
        topics: missing.map(({ name, partitions, replicationFactor, config }) => ({
          topic: name,
          numPartitions: partitions,
          replicationFactor: replicationFactor ?? -1,
          configEntries: Object.entries(config).map(([key, value]) => ({ name: key, value })),
        })),
        timeout: TIMEOUT_MS,
      },
      deadline,
    );
    for (const { topic, errorCode, errorMessage } of answer.topicErrors) {
      if (errorCode === codes.topicAlreadyExists) {
        raced.add(topic);
      } else if (errorCode !== codes.none) {
        throw new KafkaRefused(`creating topic ${topic}${errorMessage ? ` (${errorMessage})` : ''}`, errorCode);
      }
    }
    while ((await countPartitions(connections, missing)).size < missing.length && !deadline.passed()) {
      await pause(50);
    }
  }
  const existed = specs.filter(({ name }) => before.has(name) || raced.has(name));
  const differences = await compare(connections, existed);
  return specs.map(({ name }) => ({
    name,
    outcome: before.has(name) || raced.has(name) ? 'existed' : 'created',
    differences: differences.get(name) ?? [],
  }));
}

/** Throws TopicsNotAsTold unless every topic exists with as many partitions as told. */
export async function verifyTopics(connections: Connections, specs: readonly TopicSpec[]): Promise<void> {
  const found = await countPartitions(connections, specs);
  const problems = specs.flatMap(({ name, partitions }) => {
    const count = found.get(name);
    if (count === undefined) {
      return [`topic ${name} is missing`];
    }
    return count === partitions ? [] : [`topic ${name} has ${count} partitions and not ${partitions} as told`];
  });
  if (problems.length > 0) {
    throw new TopicsNotAsTold(
      `${problems.join('; ')}. Missing topics are made by \`node services/operator/dist/main.js topics\`; ` +
        'the partition count of an existing topic is fixed for life: correct the setting.',
    );
  }
}

/** Partition counts of those topics that exist. */
export async function countPartitions(
  connections: Connections,
  topics: readonly { readonly name: string }[],
  timeoutMs = TIMEOUT_MS,
): Promise<ReadonlyMap<string, number>> {
  if (topics.length === 0) {
    return new Map();
  }
  const names = topics.map(({ name }) => name);
  const answer = await connections.metadata(names, deadlineIn(timeoutMs));
  return new Map(
    answer.topicMetadata
      .filter(({ topicErrorCode, partitionMetadata }) => topicErrorCode === codes.none && partitionMetadata.length > 0)
      .map(({ topic, partitionMetadata }) => [topic, partitionMetadata.length]),
  );
}

async function compare(
  connections: Connections,
  specs: readonly TopicSpec[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  if (specs.length === 0) {
    return new Map();
  }
  const deadline = deadlineIn(TIMEOUT_MS);
  const counts = await countPartitions(connections, specs);
  const node = await connections.anyNode(deadline);
  const described = await node.call<DescribedConfigs>(
    'DescribeConfigs',
    { resources: specs.map(({ name }) => ({ type: TOPIC_RESOURCE, name })), includeSynonyms: false },
    deadline,
  );
  return new Map(
    specs.map(({ name, partitions, config }) => {
      const differences: string[] = [];
      const count = counts.get(name);
      if (count !== partitions) {
        differences.push(`${count ?? 'unknown'} partitions, told ${partitions}`);
      }
      const entries = described.resources.find(({ resourceName }) => resourceName === name)?.configEntries ?? [];
      for (const [key, told] of Object.entries(config)) {
        const is = entries.find(({ configName }) => configName === key)?.configValue;
        if (is !== told) {
          differences.push(`${key} is ${is ?? 'not set'}, told ${told}`);
        }
      }
      return [name, differences];
    }),
  );
}
