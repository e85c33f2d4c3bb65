import { Unavailable } from '@makerbook/contracts-primitives';
import { FatalError, LogUnavailable, PoisonRecord, RetryableError, type StoredRecord } from '@makerbook/kafka';
import type { LogInMemory } from '@makerbook/kafka/testing';
import type { Life, Requests } from '@makerbook/parts';
import type { LoggedFact, Projector } from '@makerbook/projector/testing';

/** A process that consumes a partition. It is stale once it has learned that another process owns the partition. */
export interface Holder {
  readonly life: Life;
  isStale: boolean;
  isStopping: boolean;
}

export interface ConsumeParts {
  readonly partition: number;
  readonly topic: string;
  readonly log: LogInMemory;
  readonly requests: Requests;
  readonly onParked: (record: StoredRecord) => void;
  readonly note: (line: () => string) => void;
}

/** Feeds a partition to the projector as the consumer loop does, until another process owns it. Throws fatal errors. */
export async function consumePartition(holder: Holder, projector: Projector, parts: ConsumeParts): Promise<void> {
  const { life } = holder;
  const { partition, note } = parts;
  let position: bigint | undefined;
  let unexpected = 0;
  for (let delayMs = 100; !holder.isStale && !holder.isStopping; ) {
    try {
      position ??= await projector.positionOf(partition);
      position = await handle(projector, position, holder, parts);
      delayMs = 100;
      unexpected = 0;
    } catch (error) {
      note(() => `${life.name}: ${error}`);
      if (!(error instanceof Unavailable)) unexpected += 1;
      if (error instanceof FatalError || unexpected > 5) throw error;
      await life.delay(delayMs);
      delayMs = Math.min(2 * delayMs, 5_000);
    }
  }
  await projector.onRevoked(partition);
}

async function handle(projector: Projector, fromOffset: bigint, holder: Holder, parts: ConsumeParts): Promise<bigint> {
  const { partition, topic, log, requests, onParked } = parts;
  const { life } = holder;
  await life.delay(requests.draws.at(life.nowMs(), 'fetch').below(50));
  const records: LoggedFact[] = [];
  const fetched = log.records(topic, partition).filter(({ offset }) => offset >= fromOffset);
  const taken = fetched.slice(0, requests.draws.at(life.nowMs(), 'length').pick([1, 3, 10, 40]));
  for (const record of taken) {
    try {
      records.push(projector.decode(record));
    } catch (error) {
      if (!(error instanceof PoisonRecord)) throw error;
      onParked(record);
    }
  }
  const end = log.end(topic, partition);
  if (end <= fromOffset) {
    await life.delay(100);
    return fromOffset;
  }
  const nextOffset = taken.length < fetched.length ? (taken.at(-1)?.offset ?? fromOffset) + 1n : end;
  await projector.handleBatch(
    { partition, records, fromOffset, nextOffset },
    {
      assertOwned: () => {
        if (holder.isStale) throw new RetryableError('given to another process');
      },
      park: (record) =>
        requests.send(
          'park',
          () => onParked(record),
          (fate) => new LogUnavailable(fate, { mayHaveBeenAppended: true }),
        ),
    },
  );
  return nextOffset;
}
