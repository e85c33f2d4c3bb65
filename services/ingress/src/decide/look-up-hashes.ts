import { type Hex, unlessAway } from '@makerbook/contracts-primitives';
import type { FoundHash } from '@makerbook/domain';
import type { Parts } from '../parts.js';
import type { ReadBefore } from './find-hashes.js';

export type LookUpParts = Pick<Parts, 'find' | 'trust' | 'notes'>;

/** Looks the hashes up; all of them are UNSURE while Postgres does not answer. */
export async function lookUp(
  { find, trust, notes }: LookUpParts,
  client: string,
  orderHashes: readonly Hex[],
): Promise<{
  readonly known: ReadonlyMap<Hex, FoundHash>;
  readonly readBefore: ReadBefore | undefined;
}> {
  const mayNote = notes.mayNote(client, orderHashes.length);
  const readBefore = await unlessAway(find(orderHashes, mayNote));
  const found = readBefore?.hashes ?? [];
  notes.note(client, found.filter(({ state }) => state === 'UNKNOWN').length);
  if (mayNote && found.some(({ state }) => state === 'UNSURE')) trust.noteLoss();
  const known = new Map(
    orderHashes.map((orderHash, index) => [orderHash, found[index] ?? { state: 'UNSURE' as const }]),
  );
  return { known, readBefore };
}
