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
 * @param signal ends it, once the handler is done with the piece that it has
 * @throws FatalError where records are missing; what the handler throws
 */
export async function readRange(
  log: Pick<Log, 'followTopic'>,
  { topic, partition, from, to }: LogRange,
  recordsMax: number,
  signal: AbortSignal,
  onRecords: (records: readonly StoredRecord[], nextOffset: bigint) => Promise<void>,
): Promise<void> {
  if (from >= to) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let isDone = false;
  const following = log.followTopic({
    topic,
    // The other partitions are not read.
    from: Array.from({ length: partition + 1 }, (_, other) => (other === partition ? from : undefined)),
    isGapless: true,
    recordsMax,
    onRecords: async (_, records) => {
      const wanted = isDone || signal.aborted ? [] : records.filter(({ offset }) => offset < to);
      const last = wanted.at(-1);
      if (last === undefined) return;
      try {
        await onRecords(wanted, last.offset + 1n);
      } catch (error) {
        // Passed on as it is, and not as a failure of reading.
        isDone = true;
        reject(error);
      }
    },
    onPosition: (_, nextOffset) => {
      if (nextOffset >= to) resolve();
    },
    onFatal: (error) => reject(new FatalError(error.message, { cause: error })),
  });
  signal.addEventListener('abort', () => resolve(), { once: true });
  try {
    await promise;
  } finally {
    await following.stop();
  }
}
