import type { Log, StoredRecord } from '@makerbook/kafka';

/** All that a topic holds now, those of one partition in their order. @throws TopicMismatch, LogUnavailable */
export async function* readTopic(log: Log, topic: string): AsyncGenerator<StoredRecord> {
  const partitions = await log.partitionsOf(topic);
  for (let partition = 0; partition < partitions; partition += 1) {
    for await (const { records } of log.readRange({ topic, partition })) yield* records;
  }
}
