import type { OrderChange, RefreshBatch } from '@makerbook/redis';

/**
 * What Redis is not told yet. The slices of a block reach it together, with the last of them: its position says that all
 * before it is there, and the slices of one block have the same position.
 */
export interface HeldChanges {
  /** Where Redis was left. Undefined where changes were lost, and it has to forget the partition. */
  readonly prevPos: bigint | undefined;
  readonly changes: readonly OrderChange[];
}

/** Some 300 bytes each. Where a block does more to a partition, its lists and reservations fill anew. */
const changesMax = 100_000;

/** A position where Redis never stands. */
const nowhere = -1n;

/** What an owner holds that finds a block begun: what the one before it did with its slices is not known. */
export const lostChanges: HeldChanges = { prevPos: undefined, changes: [] };

/** Keeps the changes of a slice that was committed from `fromOffset`. */
export function holdChanges(
  held: HeldChanges | undefined,
  fromOffset: bigint,
  changes: readonly OrderChange[],
): HeldChanges {
  const { prevPos, changes: before } = held ?? { prevPos: fromOffset, changes: [] };
  const isLost = prevPos === undefined || before.length + changes.length > changesMax;
  return isLost ? lostChanges : { prevPos, changes: [...before, ...changes] };
}

/** The refresh after a commit that moved the position, with what was held until then. */
export function withHeldChanges(held: HeldChanges | undefined, batch: RefreshBatch): RefreshBatch {
  if (held === undefined) return batch;
  return { ...batch, prevPos: held.prevPos ?? nowhere, changes: [...held.changes, ...batch.changes] };
}
