import type { Address } from '@makerbook/contracts-primitives';
import { hashKeyText } from '@makerbook/domain';
import type { HashKey } from '@makerbook/postgres';
import type { RowCommitter } from '../commit/commit-rows.js';
import { makersFromRows } from './makers-from-rows.js';
import type { PartitionState } from './partition-state.js';
import type { LoggedFact } from './read-facts.js';

/** It knows what is folded and not in Postgres yet, and which rows may be believed. */
export type RowReader = Pick<RowCommitter, 'uncommitted' | 'readRows'>;

/** Reads what the fold of the facts needs: their makers, and what became of hashes. */
export async function loadFacts(state: PartitionState, facts: readonly LoggedFact[], rows: RowReader): Promise<void> {
  state.hashes.clear();
  const makers = facts.flatMap(({ fact }) => ('maker' in fact && !state.quarantined.has(fact.maker) ? fact.maker : []));
  await Promise.all([loadHashes(state, facts, rows), loadMakers(state, makers, rows)]);
}

/**
 * Has the makers cached: those that were dropped come back with their changes that are not committed, and the others
 * are read. Unknown ones are cached too.
 * @throws FatalError where rows cannot be read
 */
export async function loadMakers(
  { makers: cached, rules: { partition } }: PartitionState,
  makers: readonly Address[],
  rows: RowReader,
): Promise<void> {
  const missing = [...new Set(makers)].filter((maker) => {
    if (cached.get(maker) !== undefined) return false;
    const [dropped] = rows.uncommitted().flatMap((changes) => changes.makers.get(maker) ?? []);
    if (dropped !== undefined) cached.touch(dropped);
    return dropped === undefined;
  });
  if (missing.length === 0) return;
  const stored = await rows.readRows((store) => store.readMakers(partition, missing));
  for (const maker of makersFromRows(partition, missing, stored)) cached.load(maker);
}

/**
 * Loads what is remembered, in Postgres or since the last commit, of the hashes that the facts submit, and of those
 * that they cancel and that are not open.
 */
export async function loadHashes(
  { hashes, makers }: PartitionState,
  facts: readonly LoggedFact[],
  rows: RowReader,
): Promise<void> {
  const keys = facts.flatMap(({ fact }): HashKey[] => {
    if (fact.type !== 'OrderSubmitted' && fact.type !== 'OrderCancelled') return [];
    const { maker, orderHash } = fact;
    const isOpen = makers.get(maker)?.draft.orders.has(orderHash) === true;
    return fact.type === 'OrderCancelled' && isOpen ? [] : [{ orderHash, maker }];
  });
  if (keys.length === 0) return;
  // Looks here before Postgres is asked: a hash that is committed meanwhile is then found in one of the two places.
  const uncommitted = rows.uncommitted();
  const newer = keys.flatMap((key) => uncommitted.flatMap((changes) => changes.hashes.get(hashKeyText(key)) ?? []));
  const { hashes: stored } = await rows.readRows((store, partition) => store.findKnownHashes(partition, keys));
  for (const row of [...stored, ...newer]) {
    const { state, nonce, expiresAtSeconds, keptUntilSeconds } = row;
    if (state === 'UNFOLDED') continue;
    const times = { expiresAtSeconds, keptUntilSeconds };
    hashes.remember(row, { state, nonce: nonce === null ? undefined : BigInt(nonce), ...times });
  }
}
