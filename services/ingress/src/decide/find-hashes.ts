import { type Hex, unlessAway } from '@makerbook/contracts-primitives';
import { type FoundHash, judgeHash } from '@makerbook/domain';
import { gatherCalls } from '@makerbook/postgres';
import type { Store } from '../store/store.js';
import type { TrustKeeper } from './keep-trust.js';
import type { UnknownNotes } from './note-unknown.js';

interface Lookup {
  readonly orderHashes: readonly Hex[];
  readonly mayNote: boolean;
}

/** Finds hashes, in their order. @param mayNote whether unknown hashes may be noted: without a note none is UNKNOWN */
export type FindHashes = (orderHashes: readonly Hex[], mayNote: boolean) => Promise<readonly FoundHash[]>;

export interface FindingParts {
  readonly findHashes: FindHashes;
  readonly trust: Pick<TrustKeeper, 'noteLoss'>;
  readonly notes: UnknownNotes;
}

/** The most hashes in a statement that several look-ups share. */
const FOUND_TOGETHER_MAX = 64;

/** Finds hashes to cancel. All are UNSURE while Postgres does not answer. */
export async function findToCancel(
  { findHashes, trust, notes }: FindingParts,
  client: string,
  orderHashes: readonly Hex[],
): Promise<ReadonlyMap<Hex, FoundHash>> {
  const mayNote = notes.mayNote(client, orderHashes.length);
  const found = (await unlessAway(findHashes(orderHashes, mayNote))) ?? [];
  notes.note(client, found.filter(({ state }) => state === 'UNKNOWN').length);
  if (mayNote && found.some(({ state }) => state === 'UNSURE')) trust.noteLoss();
  return new Map(orderHashes.map((orderHash, index) => [orderHash, found[index] ?? { state: 'UNSURE' }]));
}

/**
 * Look-ups that arrive while one runs share the next statement. Notes a hash without a row and reads it again, because
 * its order may have come meanwhile.
 */
export function findTogether(store: Pick<Store, 'findHashes' | 'note'>): FindHashes {
  const find = gatherCalls<Lookup, readonly FoundHash[]>({
    atOnceMax: 1,
    sizeOf: ({ orderHashes }) => orderHashes.length,
    sizeMax: FOUND_TOGETHER_MAX,
    decide: (lookups) => findAll(store, lookups),
  });
  return (orderHashes, mayNote) => find({ orderHashes, mayNote });
}

async function findAll(store: Pick<Store, 'findHashes' | 'note'>, lookups: readonly Lookup[]) {
  const hashes = [...new Set(lookups.flatMap(({ orderHashes }) => orderHashes))];
  const { rows: found, trustedSinceMs, nowMs } = await store.findHashes(hashes);
  const known = new Map(hashes.map((hash, at) => [hash, judgeHash(found[at] ?? { isAccepted: false }, undefined)]));
  const unknown = lookups.flatMap(({ orderHashes, mayNote }) =>
    mayNote ? orderHashes.filter((hash) => known.get(hash)?.state === 'UNSURE') : [],
  );
  const noted = [...new Set(unknown)];
  if (noted.length > 0 && trustedSinceMs !== undefined && trustedSinceMs <= nowMs) {
    await store.note(noted, trustedSinceMs, nowMs);
    const { rows } = await store.findHashes(noted);
    for (const [at, hash] of noted.entries()) known.set(hash, judgeHash(rows[at] ?? { isAccepted: false }, nowMs));
  }
  return lookups.map(({ orderHashes, mayNote }) =>
    orderHashes.map((hash): FoundHash => {
      const one = known.get(hash) ?? { state: 'UNSURE' };
      return one.state === 'UNKNOWN' && !mayNote ? { state: 'UNSURE' } : one;
    }),
  );
}
