import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import type { Log } from '@makerbook/kafka';
import type { Outcome } from './outcome.js';

/**
 * Creates every topic that is missing, with its settings. Leaves an existing topic as it is, and reports its
 * differences.
 */
export async function createTopics(
  log: Log,
  options: { prefix: string; partitions: number; replicationFactor: number },
): Promise<Outcome> {
  const specs = topicSpecs(topicNames(options.prefix), options.partitions);
  const { replicationFactor } = options;
  const outcomes = await log.createTopics(specs.map((spec) => ({ ...spec, replicationFactor })));
  const lines = outcomes.map(({ name, outcome, differences }) =>
    differences.length === 0 ? `${name}: ${outcome}` : `${name}: ${outcome}, but ${differences.join('; ')}`,
  );
  return { lines, exitCode: outcomes.every(({ differences }) => differences.length === 0) ? 0 : 1 };
}
