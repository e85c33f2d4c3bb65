import type { Address, Hex } from '@makerbook/contracts-primitives';

/** An order that the rows have, open or on its way, as a cancellation needs it. */
export interface FoundOrder {
  readonly maker: Address;
  /** As a response has it: minimal hex. */
  readonly salt: Hex;
  readonly expiresAtSeconds: number;
}

/** What the rows have of a hash, whosever it is. */
export interface HashRows {
  readonly open?: FoundOrder;
  readonly inFlight?: FoundOrder;
  /** It is in the log, and its maker in quarantine. */
  readonly unfolded?: FoundOrder;
  /** It was accepted, whatever became of it. */
  readonly isAccepted: boolean;
  readonly notedUntilMs?: number;
}

/**
 * What is known of a hash that is to be cancelled.
 * - GONE: it was accepted, and is not open any more.
 * - UNKNOWN: no request that was received by the time of its note will place it.
 * - UNSURE: nothing is known.
 */
export type FoundHash =
  | (FoundOrder & {
      readonly state: 'FOUND';
      /** It is not known yet whether the log has it. */
      readonly isInFlight: boolean;
    })
  | { readonly state: 'GONE' | 'UNKNOWN' | 'UNSURE' };

/**
 * Judges a hash by its rows.
 * @param notedAtMs the time of the note that was left before the rows were read; undefined: none was, for that was not
 * allowed, or the rows may lack something
 */
export function judgeHash(rows: HashRows, notedAtMs: number | undefined): FoundHash {
  const { open, inFlight, unfolded, isAccepted, notedUntilMs = -1 } = rows;
  const found = open ?? inFlight ?? unfolded;
  if (found !== undefined) return { state: 'FOUND', ...found, isInFlight: found === inFlight };
  if (isAccepted) return { state: 'GONE' };
  return { state: notedAtMs !== undefined && notedUntilMs >= notedAtMs ? 'UNKNOWN' : 'UNSURE' };
}

/** Whether its order is known to be in the log. */
export function wasAccepted(found: FoundHash): boolean {
  return found.state === 'GONE' || (found.state === 'FOUND' && !found.isInFlight);
}
