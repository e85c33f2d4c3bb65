import type { Address } from '@makerbook/contracts-primitives';
import {
  type BatchContext,
  FatalError,
  type PartitionBatch,
  PublisherFenced,
  RetryableError,
  type StoredRecord,
} from '@makerbook/kafka';
import { InvariantBroken, PostgresRefused, type RowsPosition } from '@makerbook/postgres';
import { isBehind } from '../commit/commit-rows.js';
import { badRows } from '../fold/makers-from-rows.js';
import { type LoggedFact, readFact } from '../fold/read-facts.js';
import type { ProjectorParts } from '../parts.js';
import { PositionTaken } from '../store/save-projection.js';
import { PartitionProjection } from './project-partition.js';
import { type TakenPartition, takePartition } from './take-partition.js';

/** The handler of the consumer loop; its functions fit `ConsumeOptions`. */
export interface Projector {
  readonly decode: (record: StoredRecord) => LoggedFact;
  /** Takes the partition, and returns the offset to fold it from. */
  readonly positionOf: (partition: number) => Promise<bigint>;
  readonly handleBatch: (batch: PartitionBatch<LoggedFact>, context: BatchContext) => Promise<void>;
  /** @param isLost true if another process may have it already: nothing more is committed */
  readonly onRevoked: (partition: number, isLost?: boolean) => Promise<void>;
  /** The partitions that are owned now, for health and metrics. */
  readonly owned: ReadonlyMap<number, PartitionProjection>;
}

/**
 * Folds the log into the feeds, and then into the rows. Any failure drops the memory: the partition is taken again and
 * folded from its rows. What is on the feeds by then is not published again.
 */
export function createProjector(parts: ProjectorParts): Projector {
  const owned = new Map<number, PartitionProjection>();
  /** Keyed by partition: the position at which it was left, and on which server. */
  const left = new Map<number, { readonly rows: RowsPosition; readonly serverStartedAt: bigint }>();

  /**
   * Stops the process if more makers are in quarantine than break by themselves: the fold is wrong. Makers that were in
   * quarantine when a partition was taken count too. Otherwise each restart would quarantine as many again.
   */
  function noteQuarantined(maker: Address, reason: string): void {
    const count = [...owned.values()].reduce((total, { taken }) => total + taken.state.quarantined.size, 1);
    if (count <= parts.settings.QUARANTINED_MAKERS_MAX) return;
    throw new FatalError(`${count} makers cannot be folded, more than QUARANTINED_MAKERS_MAX; ${maker}: ${reason}`);
  }

  async function take(partition: number): Promise<PartitionProjection> {
    await giveUp(partition, false);
    const taken = await takePartition(partition, parts, noteQuarantined);
    const one = new PartitionProjection(taken, parts);
    owned.set(partition, one);
    assertNotReplaced(partition, taken);
    parts.meters.taken?.();
    return one;
  }

  async function giveUp(partition: number, isInOrder: boolean): Promise<void> {
    const one = owned.get(partition);
    owned.delete(partition);
    await one?.close(isInOrder);
    if (one === undefined) return;
    const { committer, serverStartedAt } = one.taken;
    left.set(partition, { rows: committer.committed, serverStartedAt });
  }

  /** Throws if rows went back on the same server. A server that was started since may have lost commits. */
  function assertNotReplaced(partition: number, { committer, serverStartedAt }: TakenPartition): void {
    const before = left.get(partition);
    if (before === undefined || before.serverStartedAt !== serverStartedAt) return;
    const { committed } = committer;
    if (!isBehind(committed, before.rows)) return;
    const reason = `the rows are at ${committed.nextOffset}, but this process left them at ${before.rows.nextOffset}`;
    throw badRows(partition, `${reason}: the database was replaced while services ran`);
  }

  return {
    owned,
    decode: (record) => readFact(record, parts.settings.PARTITIONS),
    positionOf: (partition) => translated(partition, async () => (await take(partition)).position),
    onRevoked: (partition, isLost = false) => giveUp(partition, !isLost),
    handleBatch: async ({ partition, records, fromOffset, nextOffset }, context) => {
      context.assertOwned();
      try {
        await translated(partition, async () => {
          const one = owned.get(partition) ?? (await take(partition));
          if (one.position < fromOffset) await one.catchUp(fromOffset, context);
          const left = records.filter(({ offset }) => offset >= one.position);
          if (one.position < nextOffset) await one.project(left, nextOffset, context);
        });
      } catch (error) {
        await giveUp(partition, false);
        throw error;
      }
    },
  };
}

/** Translates a failure for the consumer loop: retry, or stop. */
async function translated<T>(partition: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PostgresRefused) throw new FatalError(error.message, { cause: error });
    if (error instanceof InvariantBroken) throw badRows(partition, error.message, error);
    if (error instanceof PositionTaken || error instanceof PublisherFenced) {
      throw new RetryableError(error.message, { cause: error });
    }
    throw error;
  }
}
