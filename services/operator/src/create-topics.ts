import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import type { Log } from '@makerbook/kafka';

/**
 * Creates every topic that is missing, with its settings. An existing topic is left as it is; its
 * differences are reported.
 * @returns lines for the terminal, and whether every topic is as configured
 */
export async function createTopics(
  log: Log,
  options: { prefix: string; partitions: number; replicationFactor: number },
): Promise<{ lines: string[]; isAsConfigured: boolean }> {
  const specs = topicSpecs(topicNames(options.prefix), options.partitions);
  const { replicationFactor } = options;
  const outcomes = await log.createTopics(specs.map((spec) => ({ ...spec, replicationFactor })));
  const lines = outcomes.map(({ name, outcome, differences }) =>
    differences.length === 0 ? `${name}: ${outcome}` : `${name}: ${outcome}, but ${differences.join('; ')}`,
  );
  return { lines, isAsConfigured: outcomes.every(({ differences }) => differences.length === 0) };
}
