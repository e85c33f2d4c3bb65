import { type FencedPublisher, type Log, type LogRecord, PublisherFenced, type StoredRecord } from '@makerbook/kafka';

/** For tests that need hundreds of runs: one partition of a log and of its feeds, in memory, with Kafka's promises. */
export interface LogInMemory extends Pick<Log, 'endOffsets' | 'followTopic' | 'readLastRecords'> {
  readonly createFencedPublisher: () => FencedPublisher;
  /** Everything that was published on the feeds, in order. */
  readonly published: readonly LogRecord[];
}

/**
 * @param stream all records of the log, which is stored under `topic`
 * @param partition of the stream; the others are empty
 */
export function logInMemory(
  stream: readonly StoredRecord[],
  { topic, partition, partitions }: { readonly topic: string; readonly partition: number; readonly partitions: number },
): LogInMemory {
  const published: LogRecord[] = [];
  const end = (stream.at(-1)?.offset ?? -1n) + 1n;
  let holder = 0;
  return {
    published,
    endOffsets: async () => Array.from({ length: partitions }, (_, index) => (index === partition ? end : 0n)),
    readLastRecords: async (of) => {
      const records = published.filter((record) => record.topic === of);
      return records.slice(-16).map((record, index) => ({ ...record, offset: BigInt(index), timestampMs: 0 }));
    },
    followTopic: ({ topic: of, from, onRecords, onPosition, recordsMax = 5_000 }) => {
      const start = typeof from === 'string' ? 0n : (from[partition] ?? 0n);
      const records = of === topic ? stream.filter(({ offset }) => offset >= start) : [];
      let isStopped = false;
      const caughtUp = (async () => {
        for (let at = 0; at < records.length && !isStopped; at += recordsMax) {
          const some = records.slice(at, at + recordsMax);
          await onRecords(partition, some);
          onPosition?.(partition, (some.at(-1)?.offset ?? -1n) + 1n);
        }
      })();
      return {
        caughtUp,
        positions: () => [],
        lastPollAtMs: () => 0,
        stop: async () => {
          isStopped = true;
        },
      };
    },
    createFencedPublisher: () => {
      let own = 0;
      return {
        takeOver: async () => {
          holder += 1;
          own = holder;
        },
        publish: async (records) => {
          if (own !== holder) throw new PublisherFenced('another publisher has taken over');
          published.push(...records);
        },
        close: async () => undefined,
      };
    },
  };
}
