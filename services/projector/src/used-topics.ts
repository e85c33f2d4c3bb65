import { type TopicSpec, topicNames, topicSpecs } from '@makerbook/contracts-events';
import type { RebuildSettings } from './env.js';

/** The topics that the projector reads and writes: it has no right to see the others. */
export function usedTopics({
  TOPIC_PREFIX,
  PARTITIONS,
}: Pick<RebuildSettings, 'TOPIC_PREFIX' | 'PARTITIONS'>): TopicSpec[] {
  const names = topicNames(TOPIC_PREFIX);
  const used = [names.makerEvents, names.book, names.fills, names.makers, names.parked];
  return topicSpecs(names, PARTITIONS).filter(({ name }) => used.includes(name));
}
