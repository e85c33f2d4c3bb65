import { murmur2 } from '@platformatic/kafka';

/**
 * The partition of a key, by Kafka's default partitioner (murmur2, as in the Java client), on which writers in any
 * language agree. `partitions` is the topic's partition count, fixed for life.
 */
export function partitionOf(key: string, partitions: number): number {
  if (!Number.isInteger(partitions) || partitions < 1) {
    throw new RangeError(`a topic has at least one partition, not ${partitions}`);
  }
  const keepsHash = true;
  return (murmur2(key, keepsHash) & 0x7fffffff) % partitions;
}
