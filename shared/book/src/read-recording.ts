import type { FeedRecord } from './book.js';
import type { FeedReader } from './follow-book.js';

/** A record of a recorded feed. `timeMs` is when it came, in milliseconds since 1970. */
export interface RecordedRecord extends FeedRecord {
  readonly timeMs: number;
}

/**
 * The line of a record: JSON of `partition`, `key`, `headers`, `value` (null in a tombstone) and, if given, `timeMs`.
 */
export function lineOf({ partition, key, headers, value, timeMs }: FeedRecord & Partial<RecordedRecord>): string {
  const time = timeMs === undefined ? '' : `,"timeMs":${timeMs}`;
  const place = `"partition":${partition},"key":${JSON.stringify(key)}`;
  return `{${place},"headers":${JSON.stringify(headers)},"value":${value}${time}}`;
}

/** @param line as `lineOf` writes it. Values are JSON as JavaScript writes it, so they stay the same byte for byte */
export function parseLine(line: string): RecordedRecord {
  const { value, ...record } = JSON.parse(line);
  return { ...record, value: value === null ? null : JSON.stringify(value) };
}

/**
 * Reads a recorded feed to its end, instead of Kafka.
 * @param lines of its file, unpacked
 */
export function readRecording(lines: AsyncIterable<string>): FeedReader {
  return {
    followTopic: ({ onRecords, onFatal }) => {
      const read: bigint[] = [];
      let isStopped = false;
      const readAll = async () => {
        for await (const line of lines) {
          if (isStopped) return;
          const record = parseLine(line);
          onRecords(record.partition, [record]);
          while (read.length <= record.partition) read.push(0n);
          read[record.partition] = (read[record.partition] ?? 0n) + 1n;
        }
      };
      const caughtUp = readAll();
      caughtUp.catch(onFatal);
      return {
        caughtUp,
        positions: () => read,
        stop: async () => {
          isStopped = true;
        },
      };
    },
  };
}
