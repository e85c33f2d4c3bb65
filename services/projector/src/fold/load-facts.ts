import type { Address } from '@makerbook/contracts-primitives';
import { hashKeyText } from '@makerbook/domain';
import type { HashKey } from '@makerbook/postgres';
import type { RowCommitter } from '../commit/commit-rows.js';
import { makersFromRows } from './makers-from-rows.js';
import type { PartitionState } from './partition-state.js';
import type { LoggedFact } from './read-facts.js';

/** It knows what is folded and not in Postgres yet, and which rows may be believed. */
export type RowReader = Pick<RowCommitter, 'uncommitted' | 'readRows'>;

/** Consecutive facts, and those of their makers who are not in quarantine. */
export interface PartOfBatch {
  readonly facts: readonly LoggedFact[];
  readonly makers: ReadonlySet<Address>;
}

/**
 * Cuts facts into parts whose makers can be in memory together. Those that are to be read count twice, so that there is
 * room for them while those of the part before wait to be committed.
 */
export function* cutFacts(state: PartitionState, facts: readonly LoggedFact[]): Generator<PartOfBatch> {
  const { makers: cached, quarantined } = state;
  let begin = 0;
  let size = 0;
  let makers = new Set<Address>();
  for (const [index, { fact }] of facts.entries()) {
    if (!('maker' in fact) || makers.has(fact.maker) || quarantined.has(fact.maker)) continue;
    const added = () => cached.get(fact.maker)?.size ?? 2 * sizeOnceRead(state, fact.maker);
    if (makers.size > 0 && size + added() > cached.sizeMax) {
      yield { facts: facts.slice(begin, index), makers };
      [begin, size, makers] = [index, 0, new Set()];
    }
    size += added();
    makers.add(fact.maker);
  }
  yield { facts: facts.slice(begin), makers };
}

/** Counts the maker, who is not in memory, and its open orders. */
export function sizeOnceRead({ due }: PartitionState, maker: Address): number {
  return 1 + due.ordersOf(maker);
}

/** Reads what the fold of the facts needs: their makers, and what became of hashes. */
export async function loadFacts(state: PartitionState, part: PartOfBatch, rows: RowReader): Promise<void> {
  state.hashes.clear();
  await Promise.all([loadHashes(state, part.facts, rows), loadMakers(state, part.makers, rows)]);
}

/**
 * Has the makers cached. Unknown ones are cached too.
 * @throws FatalError where rows cannot be read
 */
export async function loadMakers(
  { makers: cached, rules: { partition } }: PartitionState,
  makers: Iterable<Address>,
  rows: RowReader,
): Promise<void> {
  const missing = [...makers].filter((maker) => cached.get(maker) === undefined);
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
