import type { Address, Hex } from '@makerbook/contracts-primitives';
import { boundedSeconds, unknownMaker } from '@makerbook/domain';
import {
  type DueMaker,
  findDueMakers,
  findKnownHashes,
  type HashKey,
  type Postgres,
  readMakers,
  readNextDue,
} from '@makerbook/postgres';
import type { Changes } from '../commit/gather-changes.js';
import type { Semaphore } from '../commit/semaphore.js';
import { makersFromRows, unreadableMaker } from './makers-from-rows.js';
import type { PartitionState } from './partition-state.js';
import type { LoggedFact } from './read-facts.js';

export interface LoadParts {
  readonly postgres: Postgres;
  /** Readings of makers, of all partitions of the process: a block makes orders of all of them due at once. */
  readonly reads: Semaphore;
  /** Makers whose rows the read model refused, and why: they are not read again. */
  readonly refused: ReadonlyMap<Address, string>;
  /** Changes that are folded and perhaps not in Postgres yet. */
  readonly uncommitted: () => readonly Changes[];
  /** To be called after reading: throws where the rows are not those that this owner has written. */
  readonly verifyRows: () => Promise<void>;
  /** Bound on the open orders of makers that are loaded together because they are due. */
  readonly dueOrdersMax: number;
}

const noMaker: Hex = '0x';

/** Reads what the fold of the facts needs: their makers, those that their blocks make due, and what became of hashes. */
export async function loadFacts(state: PartitionState, facts: readonly LoggedFact[], parts: LoadParts): Promise<void> {
  const makers = new Set<Address>();
  let latest = -1;
  for (const { fact } of facts) {
    if (fact.type === 'BlockProcessed') latest = Math.max(latest, fact.block.timestamp);
    else if ('maker' in fact && fact.type !== 'QuarantineLifted') makers.add(fact.maker);
  }
  const isDue = latest >= state.storedDueSeconds;
  const [hashes, due] = await Promise.all([
    loadHashes(state, hashesOf(facts, state), parts),
    isDue ? findDueMakers(parts.postgres, state.rules.partition, latest, noMaker, dueMakersMax) : [],
  ]);
  // Where more is due than is loaded at once, each block finds out for itself.
  const isAll = isDue && due.length < dueMakersMax && ordersOf(due) <= parts.dueOrdersMax;
  if (isAll) for (const { maker } of due) makers.add(maker);
  const isRead = await loadMakers(state, makers, parts);
  if (isAll) await noteStoredDue(state, latest, parts);
  if (hashes || isRead || isDue) await parts.verifyRows();
}

/** How many due makers are asked for at once. */
const dueMakersMax = 256;

/**
 * The makers that are due, in the order of their addresses. Those that are not held are loaded, some at a time.
 * @param dropUnneeded called where makers that are not needed any more may be dropped from memory
 */
export async function* findDue(
  state: PartitionState,
  clockSeconds: number,
  parts: LoadParts,
  dropUnneeded: () => void,
): AsyncGenerator<Address> {
  const isHeldDue = clockSeconds >= state.heldDueSeconds || state.unreadable.size > 0;
  if (!isHeldDue && clockSeconds < state.storedDueSeconds) return;
  const isStoredDue = clockSeconds >= state.storedDueSeconds;
  for (let after = noMaker; ; ) {
    const { partition } = state.rules;
    const found = isStoredDue ? await findDueMakers(parts.postgres, partition, clockSeconds, after, dueMakersMax) : [];
    const group = found.slice(0, makersWithin(found, parts.dueOrdersMax));
    const isLast = group.length === found.length && found.length < dueMakersMax;
    const last = isLast ? undefined : group.at(-1)?.maker;
    await loadMakers(
      state,
      group.map(({ maker }) => maker),
      parts,
    );
    if (isStoredDue) await parts.verifyRows();
    // One whose rows cannot be read counts as due.
    const due = [...state.unreadable.keys()];
    for (const [maker, { draft }] of state.makers.entries()) if (draft.dueAtSeconds <= clockSeconds) due.push(maker);
    const isInGroup = (maker: Address) => maker > after && (last === undefined || maker <= last);
    for (const maker of due.filter(isInGroup).sort()) yield maker;
    dropUnneeded();
    if (last === undefined) break;
    after = last;
  }
  if (isStoredDue) await noteStoredDue(state, clockSeconds, parts);
  state.heldDueSeconds = Number.POSITIVE_INFINITY;
  for (const [, { draft }] of state.makers.entries()) {
    state.heldDueSeconds = Math.min(state.heldDueSeconds, draft.dueAtSeconds);
  }
}

/**
 * Reads the makers that are not held; unknown ones are held too. Quarantined ones are not read.
 * @returns whether any was read
 */
export async function loadMakers(
  state: PartitionState,
  makers: Iterable<Address>,
  { postgres, reads, refused }: LoadParts,
): Promise<boolean> {
  const missing = [...makers].filter((maker) => !isLoaded(state, maker));
  if (missing.length === 0) return false;
  const rows = await reads.run(() => readMakers(postgres, missing));
  const stored = makersFromRows(rows);
  for (const maker of missing) {
    const reason = refused.get(maker);
    const orders = () => rows.orders.filter((row) => row.maker === maker);
    const unreadable = reason === undefined ? stored.unreadable.get(maker) : unreadableMaker(reason, orders());
    if (unreadable !== undefined) state.unreadable.set(maker, unreadable);
    else {
      const { draft } = state.makers.load(stored.makers.get(maker) ?? unknownMaker(maker));
      state.heldDueSeconds = Math.min(state.heldDueSeconds, draft.dueAtSeconds);
    }
  }
  return true;
}

/** Whether a fact about the maker can be folded without reading. */
export function isLoaded(state: PartitionState, maker: Address): boolean {
  return state.makers.has(maker) || state.quarantined.has(maker) || state.unreadable.has(maker);
}

/**
 * Adds what became of the hashes before: in Postgres, or since the last commit.
 * @returns whether anything was read
 */
export async function loadHashes(
  { hashes }: PartitionState,
  keys: readonly HashKey[],
  { postgres, uncommitted }: Pick<LoadParts, 'postgres' | 'uncommitted'>,
): Promise<boolean> {
  hashes.accepted.clear();
  hashes.cancelled.clear();
  // Before Postgres is asked: what is committed meanwhile is found at one of the two places.
  for (const { orders, cancelled } of uncommitted()) {
    for (const { orderHash } of keys) {
      if (orders.get(orderHash)?.isNew === true) hashes.accepted.add(orderHash);
      if (cancelled.has(orderHash)) hashes.cancelled.add(orderHash);
    }
  }
  if (keys.length === 0) return false;
  const known = await findKnownHashes(postgres, keys);
  for (const orderHash of known.accepted) hashes.accepted.add(orderHash);
  for (const orderHash of known.cancelled) hashes.cancelled.add(orderHash);
  return true;
}

/** The hashes that the facts submit, and those that they cancel and that are not open. */
export function hashesOf(facts: readonly LoggedFact[], { makers }: Pick<PartitionState, 'makers'>): HashKey[] {
  return facts.flatMap(({ fact }) => {
    if (fact.type === 'OrderSubmitted') {
      const { maker, orderHash, order } = fact;
      return { maker, orderHash, expiresAtSeconds: boundedSeconds(BigInt(order.expiresAt)) };
    }
    if (fact.type !== 'OrderCancelled') return [];
    const { maker, orderHash, expiresAtSeconds } = fact;
    return makers.get(maker)?.draft.orders.has(orderHash) === true ? [] : { maker, orderHash, expiresAtSeconds };
  });
}

async function noteStoredDue(state: PartitionState, afterSeconds: number, { postgres }: LoadParts): Promise<void> {
  const due = await readNextDue(postgres, state.rules.partition, afterSeconds);
  state.storedDueSeconds = due ?? Number.POSITIVE_INFINITY;
}

function ordersOf(due: readonly DueMaker[]): number {
  return due.reduce((orders, { openOrders }) => orders + Math.max(1, openOrders), 0);
}

/** How many makers have so many orders together; at least one. */
function makersWithin(due: readonly DueMaker[], ordersMax: number): number {
  let orders = 0;
  for (const [index, { openOrders }] of due.entries()) {
    orders += Math.max(1, openOrders);
    if (orders > ordersMax && index > 0) return index;
  }
  return due.length;
}
