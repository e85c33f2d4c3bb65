import { type TopicSpec, topicNames, topicSpecs } from '@makerbook/contracts-events';

/** The topics that the projector reads and writes: it has no right to see the others. */
export function usedTopics({
  TOPIC_PREFIX: prefix,
  PARTITIONS: partitions,
}: {
  readonly TOPIC_PREFIX: string;
  readonly PARTITIONS: number;
}): TopicSpec[] {
  const { makerEvents, book, makers, parked } = topicNames(prefix);
  return topicSpecs(topicNames(prefix), partitions).filter(({ name }) =>
    [makerEvents, book, makers, parked].includes(name),
  );
}
