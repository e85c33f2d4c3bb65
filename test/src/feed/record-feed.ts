import type { Log } from '@makerbook/kafka';
import { openFeedFile } from './keep-files.js';

export interface RecordOptions {
  readonly topic: string;
  readonly file: string;
  readonly nowMs: number;
  /** Called with the number of records that were there before. */
  readonly onCaughtUp: (count: number) => void;
}

/**
 * Writes what a topic has and gets into a file, until it is stopped. What was there before counts as come when the
 * recording began.
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
