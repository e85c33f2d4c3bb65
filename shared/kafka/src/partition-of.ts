const SEED = 0x9747b28c;
const MULTIPLIER = 0x5bd1e995;

/**
 * The partition of a key, by Kafka's default partitioner (murmur2, as in the Java client), on which writers in any language
 * agree. `partitions` is the topic's partition count, fixed for life.
 */
export function partitionOf(key: string, partitions: number): number {
  if (!Number.isInteger(partitions) || partitions < 1) {
    throw new RangeError(`a topic has at least one partition, not ${partitions}`);
  }
  return (murmur2(Buffer.from(key, 'utf8')) & 0x7fffffff) % partitions;
}

function murmur2(data: Buffer): number {
  let hash = SEED ^ data.length;
  let at = 0;
  for (; at + 4 <= data.length; at += 4) {
    let word = Math.imul(data.readInt32LE(at), MULTIPLIER);
    word = Math.imul(word ^ (word >>> 24), MULTIPLIER);
    hash = Math.imul(hash, MULTIPLIER) ^ word;
  }
  if (at < data.length) {
    for (let rest = data.length - 1; rest >= at; rest -= 1) hash ^= data.readUInt8(rest) << (8 * (rest - at));
    hash = Math.imul(hash, MULTIPLIER);
  }
  hash = Math.imul(hash ^ (hash >>> 13), MULTIPLIER);
  return hash ^ (hash >>> 15);
}
