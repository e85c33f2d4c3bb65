import { FatalError, type Log, type StoredRecord } from '@makerbook/kafka';

/** A part of one partition: the records at offsets from `from` on, before `to`. */
export interface LogRange {
  readonly topic: string;
  readonly partition: number;
  readonly from: bigint;
  readonly to: bigint;
}

const endTimeoutMs = 10_000;
const staleCheckMs = 500;

/**
 * Reads a part of one partition, in order, and waits for the handler of each piece.
 * @param recordsMax of one piece
 * @param assertOwned throws where the partition is no longer this process's; asked now and then while nothing is read
 * @throws LogUnavailable; FatalError where records are missing; what the handler throws
 */
export async function readRange(
  log: Pick<Log, 'endOffsets' | 'followTopic'>,
  { topic, partition, from, to }: LogRange,
  recordsMax: number,
  assertOwned: () => void,
  onRecords: (records: readonly StoredRecord[]) => Promise<void>,
): Promise<void> {
  if (from >= to) return;
  const ends = await log.endOffsets(topic, { timeoutMs: endTimeoutMs });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // What the handler throws is passed on as it is, and not as a failure of reading.
  let isDone = false;
  const following = log.followTopic({
    topic,
    // The other partitions are followed from their ends, and left aside.
    from: ends.map((end, other) => (other === partition ? from : end)),
    isGapless: true,
    recordsMax,
    onRecords: async (of, records) => {
      const wanted = of !== partition || isDone ? [] : records.filter(({ offset }) => offset < to);
      if (wanted.length === 0) return;
      try {
        await onRecords(wanted);
      } catch (error) {
        isDone = true;
        reject(error);
      }
    },
    onPosition: (of, nextOffset) => {
      if (of === partition && nextOffset >= to) resolve();
    },
    onFatal: (error) => reject(new FatalError(error.message, { cause: error })),
  });
  const checking = setInterval(() => {
    try {
      assertOwned();
    } catch (error) {
      isDone = true;
      reject(error);
    }
  }, staleCheckMs);
  try {
    await promise;
  } finally {
    clearInterval(checking);
    await following.stop();
  }
}
