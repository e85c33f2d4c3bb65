import type { Log, StoredRecord } from '@makerbook/kafka';

/** Reads all that a topic holds now, each partition in order. @throws TopicMismatch, LogUnavailable */
export async function* readTopic(log: Log, topic: string): AsyncGenerator<StoredRecord> {
  const partitions = await log.partitionsOf(topic);
  for (let partition = 0; partition < partitions; partition += 1) {
    for await (const { records } of log.readRange({ topic, partition })) yield* records;
  }
}
