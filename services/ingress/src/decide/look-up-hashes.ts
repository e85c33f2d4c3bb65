import { type Hex, unlessAway } from '@makerbook/contracts-primitives';
import type { FoundHash } from '@makerbook/domain';
import type { Parts } from '../parts.js';

export type LookUpParts = Pick<Parts, 'find' | 'trust' | 'notes'>;

/** Looks the hashes up; all of them are UNSURE while Postgres does not answer. */
export async function lookUp(
  { find, trust, notes }: LookUpParts,
  client: string,
  orderHashes: readonly Hex[],
): Promise<ReadonlyMap<Hex, FoundHash>> {
  const mayNote = notes.mayNote(client, orderHashes.length);
  const found = (await unlessAway(find(orderHashes, mayNote))) ?? [];
  notes.note(client, found.filter(({ state }) => state === 'UNKNOWN').length);
  if (mayNote && found.some(({ state }) => state === 'UNSURE')) trust.noteLoss();
  return new Map(orderHashes.map((orderHash, index) => [orderHash, found[index] ?? { state: 'UNSURE' }]));
}
