import type { Log, StoredRecord } from '@makerbook/kafka';

export const ENDS_TIMEOUT_MS = 10_000;

/** All that a topic holds, those of one partition in their order. @throws LogUnavailable */
export async function readTopic(log: Log, topic: string): Promise<StoredRecord[]> {
  const ends = await log.endOffsets(topic, { timeoutMs: ENDS_TIMEOUT_MS });
  const partitions = ends.map((end, partition) => readPartition(log, topic, partition, end));
  return (await Promise.all(partitions)).flat();
}

async function readPartition(log: Log, topic: string, partition: number, end: bigint): Promise<StoredRecord[]> {
  const all: StoredRecord[] = [];
  for await (const { records } of log.readRange({ topic, partition }, undefined, end)) all.push(...records);
  return all;
}
