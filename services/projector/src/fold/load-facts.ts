import type { Address } from '@makerbook/contracts-primitives';
import { hashKeyText } from '@makerbook/domain';
import type { HashKey } from '@makerbook/postgres';
import type { RowCommitter } from '../commit/commit-rows.js';
import { makersFromRows } from './makers-from-rows.js';
import type { PartitionState } from './partition-state.js';
import type { LoggedFact } from './read-facts.js';

/** Knows what is folded but not in Postgres yet, and which rows to trust. */
export type RowReader = Pick<RowCommitter, 'uncommitted' | 'readRows'>;

/** Consecutive facts, and their makers except those in quarantine. */
export interface PartOfBatch {
  readonly facts: readonly LoggedFact[];
  readonly makers: ReadonlySet<Address>;
}

/**
 * Cuts facts into parts whose makers fit in memory together. A maker that must be read counts twice. This leaves room
 * for it while the makers of the previous part wait for their commit.
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

/** Counts a maker who is not in memory, and its open orders. */
export function sizeOnceRead({ due }: PartitionState, maker: Address): number {
  return 1 + due.ordersOf(maker);
}

/** Reads what the fold of the facts needs: their makers, and the remembered hashes. */
export async function loadFacts(state: PartitionState, part: PartOfBatch, rows: RowReader): Promise<void> {
  state.hashes.clear();
  await Promise.all([loadHashes(state, part.facts, rows), loadMakers(state, part.makers, rows)]);
}

/**
 * Reads the makers that are not cached. Unknown makers are cached too.
 * @throws FatalError if rows cannot be read
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
 * Loads remembered hashes from Postgres and from the uncommitted changes: those that the facts submit, and those that
 * they cancel and that are not open.
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
  // Look at the uncommitted changes before asking Postgres: a hash that is committed meanwhile is then in one of the
  // two.
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
