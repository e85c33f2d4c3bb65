import {
  type BlockRef,
  encodeMakerEvent,
  type MakerEvent,
  type MakerObserved,
  type TraceHeaders,
} from '@makerbook/contracts-events';
import { type Appender, type LogRecord, partitionOf } from '@makerbook/kafka';
import { carryOn, inSendSpan } from '@makerbook/telemetry';

/** What was read of a maker, with the trace of the request that led to it; none where a block did. */
export interface Observed {
  readonly fact: MakerObserved;
  readonly trace: TraceHeaders | undefined;
}

/** The last record that was appended to each partition. */
export type AppendedTo = ReadonlyMap<number, bigint>;

/** Appends the watcher's facts to the log. Every method throws LogUnavailable; a repeat is harmless. */
export interface FactPublisher {
  /** Whether all that this process has appended to the partition is before the offset; false where that is not known. */
  isBefore(partition: number, offset: bigint): boolean;
  /** What was read of makers, alone. */
  publish(observed: readonly Observed[]): Promise<AppendedTo>;
  /**
   * What was read of makers at a block, and then the block's `BlockProcessed`, to each of the partitions: in one record
   * batch, so that a partition has all of it or nothing. What is beyond a batch goes before, in whole records.
   */
  publishBlock(observed: readonly Observed[], block: BlockRef, term: number, to: readonly number[]): Promise<void>;
  startTerm(partition: number, term: number, holder: string): Promise<void>;
  /** To every partition. A failed append is ignored: the process is about to end. */
  endTerm(term: number, holder: string): Promise<void>;
}

export interface PublisherOptions {
  readonly appender: Appender;
  readonly topic: string;
  readonly partitions: number;
  readonly nowMs: () => number;
  /** Records in one record batch. Default 500. */
  readonly batchRecordsMax?: number | undefined;
}

const SOURCE = '/makerbook/chain-watcher';
/** Under the appender's bound on a record batch (900,000) with room for headers. */
const BATCH_BYTES_MAX = 700_000;

export function createFactPublisher(options: PublisherOptions): FactPublisher {
  const { appender, topic, partitions, nowMs, batchRecordsMax = 500 } = options;
  /** Of the records of this process, so that each has an id of its own. */
  let written = 0;
  /** The last record of each partition, -1 before the first; undefined while an append is under way, and after one that failed. */
  const appendedTo = new Array<bigint | undefined>(partitions).fill(-1n);

  const recordOf = (partition: number, event: MakerEvent, id: string, timeMs: number, origin?: TraceHeaders) => {
    const { key, value, headers } = encodeMakerEvent(event, { id, source: SOURCE, timeMs, trace: carryOn(origin) });
    return { topic, partition, key: key ?? '', value, headers } satisfies LogRecord;
  };
  const byPartition = (observed: readonly Observed[]) => {
    const records = new Map<number, LogRecord[]>();
    for (const { fact, trace } of observed) {
      const partition = partitionOf(fact.maker, partitions);
      written += 1;
      const id = `${fact.term}:${fact.block.number}:${fact.maker}:${written}`;
      const own = records.get(partition) ?? [];
      own.push(recordOf(partition, fact, id, fact.block.timestamp * 1000, trace));
      records.set(partition, own);
    }
    return records;
  };
  const appendInOrder = async (partition: number, records: readonly LogRecord[]): Promise<bigint> => {
    let last = -1n;
    appendedTo[partition] = undefined;
    for (const batch of batchesOf(records, batchRecordsMax)) {
      last = (await appender.append(batch)).at(-1)?.offset ?? last;
    }
    appendedTo[partition] = last;
    return last;
  };

  return {
    isBefore: (partition, offset) => (appendedTo[partition] ?? offset) < offset,
    publish: (observed) =>
      inSendSpan(topic, observed.length, {}, async () => {
        const appended = [...byPartition(observed)].map(
          async ([partition, records]) => [partition, await appendInOrder(partition, records)] as const,
        );
        return new Map(await allDone(appended));
      }),
    publishBlock: (observed, block, term, to) =>
      inSendSpan(topic, observed.length + to.length, { 'makerbook.block': block.number }, async () => {
        const records = byPartition(observed);
        const appended = to.map((partition) => {
          const id = `${block.number}:BlockProcessed:${partition}:${term}`;
          const processed = { type: 'BlockProcessed', block, term } as const;
          const last = recordOf(partition, processed, id, block.timestamp * 1000);
          return appendInOrder(partition, [...(records.get(partition) ?? []), last]);
        });
        await allDone(appended);
      }),
    startTerm: async (partition, term, holder) => {
      const id = `${term}:TermStarted:${holder}:${partition}`;
      await appender.append([recordOf(partition, { type: 'TermStarted', term, holder }, id, nowMs())]);
    },
    endTerm: async (term, holder) => {
      const ended = Array.from({ length: partitions }, (_, partition) => {
        const id = `${term}:TermEnded:${holder}:${partition}`;
        return appender.append([recordOf(partition, { type: 'TermEnded', term, holder }, id, nowMs())]);
      });
      await Promise.allSettled(ended);
    },
  };
}

function batchesOf(records: readonly LogRecord[], recordsMax: number): LogRecord[][] {
  const batches: LogRecord[][] = [];
  let batch: LogRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    const size = record.value?.length ?? 0;
    if (batch.length > 0 && (batch.length === recordsMax || bytes + size > BATCH_BYTES_MAX)) {
      batches.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(record);
    bytes += size;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

/** Waits for all of them also where one fails: what comes later must not overtake what is still under way. */
async function allDone<T>(works: readonly Promise<T>[]): Promise<T[]> {
  const outcomes = await Promise.allSettled(works);
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}
