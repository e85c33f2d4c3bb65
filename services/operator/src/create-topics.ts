import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import type { Log } from '@makerbook/kafka';

/**
 * Creates every topic that is missing, with its settings. An existing topic is left as it is; where it differs, the
 * difference is said. Of three replicas and more two have to acknowledge, so that the loss of one loses nothing.
 * @returns lines for the person who runs it, and whether every topic is as it must be
 */
export async function createTopics(
  log: Log,
  options: { prefix: string; partitions: number; replicationFactor: number },
): Promise<{ lines: string[]; isAsTold: boolean }> {
  const specs = topicSpecs(topicNames(options.prefix), options.partitions);
  const outcomes = await log.createTopics(
    specs.map(({ config, ...spec }) => {
      const { replicationFactor } = options;
      const inSyncMin = replicationFactor >= 3 ? '2' : '1';
      return { ...spec, replicationFactor, config: { ...config, 'min.insync.replicas': inSyncMin } };
    }),
  );
  const lines = outcomes.map(({ name, outcome, differences }) =>
    differences.length === 0 ? `${name}: ${outcome}` : `${name}: ${outcome}, but ${differences.join('; ')}`,
  );
  return { lines, isAsTold: outcomes.every(({ differences }) => differences.length === 0) };
}
