import {
  FatalError,
  LogUnavailable,
  type PartitionBatch,
  PoisonRecord,
  PublisherFenced,
  RetryableError,
  type StoredRecord,
} from '@makerbook/kafka';
import { PositionTaken, PostgresRefused, PostgresUnavailable } from '@makerbook/postgres';
import { markPosition } from './commit-stretch.js';
import { UnfoldableFact } from './fold-facts.js';
import { type OwnedPartition, type OwningParts, publishUnpublished, takePartition } from './own-partition.js';
import { type BatchHold, projectStretch, type StretchParts } from './project-stretch.js';
import { type LoggedFact, readFact } from './read-facts.js';

export interface ProjectorParts extends OwningParts, Omit<StretchParts, 'owned'> {
  /** How many partitions the topic has. */
  readonly partitions: number;
}

/** The handler of the consumer loop; its functions fit `ConsumeOptions`. */
export interface Projector {
  readonly decode: (record: StoredRecord) => LoggedFact;
  /** Takes the partition and tells where its projection stands. */
  readonly positionOf: (partition: number) => Promise<bigint>;
  readonly handleBatch: (batch: PartitionBatch<LoggedFact>, context: BatchHold) => Promise<void>;
  readonly onRevoked: (partitions: readonly number[]) => Promise<void>;
  /** The partitions that are owned now, for health and metrics. */
  readonly owned: ReadonlyMap<number, OwnedPartition>;
}

/**
 * Folds the log into the read model: commit rows and position together, then publish the feeds and refresh the caches.
 * A crash between any two steps heals when the partition is taken again.
 */
export function createProjector(parts: ProjectorParts): Projector {
  const owned = new Map<number, OwnedPartition>();

  async function take(partition: number): Promise<OwnedPartition> {
    await giveUp(partition);
    const one = await translated(() => takePartition(partition, parts));
    owned.set(partition, one);
    parts.meters.taken();
    return one;
  }

  async function giveUp(partition: number, held = owned.get(partition)): Promise<void> {
    if (held === undefined) return;
    if (owned.get(partition) === held) owned.delete(partition);
    await held.publisher.close();
  }

  /** In good order: who starts from the book soon after need not go far back. Best effort. */
  async function leave(partition: number): Promise<void> {
    const one = owned.get(partition);
    if (one?.unpublished.length === 0) await markPosition(one, parts, 0).catch(() => undefined);
    await giveUp(partition);
  }

  return {
    owned,
    decode: (record) => readFact(record, parts.partitions),
    positionOf: async (partition) => (await take(partition)).position,
    onRevoked: async (partitions) => {
      await Promise.all(partitions.map(leave));
    },
    handleBatch: async ({ partition, records, fromOffset, nextOffset }, context) => {
      context.heartbeat();
      const one = owned.get(partition) ?? (await take(partition));
      try {
        await translated(async () => {
          await publishUnpublished(one);
          if (one.position < fromOffset) {
            throw new FatalError(`partition ${partition} stands at ${one.position}, before the batch at ${fromOffset}`);
          }
          while (one.position < nextOffset) {
            context.heartbeat();
            const left = records.filter(({ offset }) => offset >= one.position);
            await projectStretch(one, left, nextOffset, { ...parts, owned }, context);
          }
        });
      } catch (error) {
        // Unpublished feeds wait in memory, and a fact that is parked has changed nothing. After any other failure
        // nothing in memory is believed: the partition is taken again, and read from Postgres.
        if (!(error instanceof LogUnavailable || error instanceof PoisonRecord)) await giveUp(partition, one);
        throw error;
      }
    },
  };
}

/** What a failure means for the consumer loop: wait and try again, park one message, or stop. */
async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PostgresUnavailable || error instanceof PositionTaken || error instanceof PublisherFenced) {
      throw new RetryableError(error.message, { cause: error });
    }
    if (error instanceof PostgresRefused) throw new FatalError(error.message, { cause: error });
    if (error instanceof UnfoldableFact) {
      throw new PoisonRecord(error.message, { offset: error.offset, cause: error });
    }
    throw error;
  }
}
