import { FatalError, type Log, type StoredRecord } from '@makerbook/kafka';

/** A part of one partition: the records at offsets from `from` on, before `to`. */
export interface LogRange {
  readonly topic: string;
  readonly partition: number;
  readonly from: bigint;
  readonly to: bigint;
}

/**
 * Reads a part of one partition, in order, and waits for the handler of each piece.
 * @param recordsMax of one piece
 * @returns `done` throws a FatalError where records are missing, and what the handler throws; `stop` waits for the handler
 */
export function readRange(
  log: Pick<Log, 'followTopic'>,
  { topic, partition, from, to }: LogRange,
  recordsMax: number,
  onRecords: (records: readonly StoredRecord[], nextOffset: bigint) => Promise<void>,
): { readonly done: Promise<void>; readonly stop: () => Promise<void> } {
  if (from >= to) return { done: Promise.resolve(), stop: async () => undefined };
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  let isEnded = false;
  const following = log.followTopic({
    topic,
    // The other partitions are not read.
    from: Array.from({ length: partition + 1 }, (_, other) => (other === partition ? from : undefined)),
    isGapless: true,
    recordsMax,
    onRecords: async (_, records) => {
      const wanted = isEnded ? [] : records.filter(({ offset }) => offset < to);
      const last = wanted.at(-1);
      if (last === undefined) return;
      try {
        await onRecords(wanted, last.offset + 1n);
      } catch (error) {
        // Passed on as it is, and not as a failure of reading.
        isEnded = true;
        reject(error);
      }
    },
    onPosition: (_, nextOffset) => {
      if (nextOffset >= to) resolve();
    },
    onFatal: (error) => reject(new FatalError(error.message, { cause: error })),
  });
  return {
    done,
    stop: async () => {
      isEnded = true;
      await following.stop();
    },
  };
}
