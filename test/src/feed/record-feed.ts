import type { Log } from '@makerbook/kafka';
import { openFeedFile } from './keep-files.js';

export interface RecordOptions {
  readonly topic: string;
  readonly file: string;
  readonly nowMs: number;
  /** Called with the number of records that the topic had before. */
  readonly onCaughtUp: (count: number) => void;
}

/**
 * Writes the records of a topic into a file, old and new ones, until it is stopped. Records from before get the time at
 * which the recording began.
 * @returns how many records
 */
export async function recordFeed(
  log: Pick<Log, 'followTopic'>,
  { topic, file, nowMs, onCaughtUp }: RecordOptions,
  stopped: Promise<unknown>,
): Promise<number> {
  const out = openFeedFile(file);
  const { promise: failed, reject: onFatal } = Promise.withResolvers<never>();
  let count = 0;
  const following = log.followTopic({
    topic,
    from: 'beginning',
    onFatal,
    onRecords: async (_partition, records) => {
      for (const { timestampMs, ...record } of records) {
        await out.write({ ...record, timeMs: Math.max(timestampMs, nowMs) });
        count += 1;
      }
    },
  });
  void following.caughtUp.then(() => onCaughtUp(count));
  await Promise.race([stopped, failed]).finally(() => following.stop());
  await out.close();
  return count;
}
