import type { Address, Hex } from '@makerbook/contracts-primitives';

/** An order in the rows, open or in flight, with what a cancellation needs. */
export interface FoundOrder {
  readonly maker: Address;
  /** Minimal hex, as in a response. */
  readonly salt: Hex;
  readonly expiresAtSeconds: number;
}

/** The rows about a hash, whoever its maker is. */
export interface HashRows {
  readonly open?: FoundOrder;
  readonly inFlight?: FoundOrder;
  /** The order is in the log, and its maker is in quarantine. */
  readonly unfolded?: FoundOrder;
  /** The order was accepted, whatever became of it. */
  readonly isAccepted: boolean;
  readonly notedUntilMs?: number;
}

/**
 * The state of a hash to be cancelled, as far as it is known.
 * - GONE: it was accepted and is no longer open.
 * - UNKNOWN: no request that was received by the time of its note will place it.
 * - UNSURE: nothing is known.
 */
export type FoundHash =
  | (FoundOrder & {
      readonly state: 'FOUND';
      /** It is unknown yet whether the order is in the log. */
      readonly isInFlight: boolean;
    })
  | { readonly state: 'GONE' | 'UNKNOWN' | 'UNSURE' };

/**
 * Judges a hash by its rows.
 * @param notedAtMs the time of the note that was left before the rows were read; undefined if none was allowed, or if
 * the rows may lack something
 */
export function judgeHash(rows: HashRows, notedAtMs: number | undefined): FoundHash {
  const { open, inFlight, unfolded, isAccepted, notedUntilMs = -1 } = rows;
  const found = open ?? inFlight ?? unfolded;
  if (found !== undefined) return { state: 'FOUND', ...found, isInFlight: found === inFlight };
  if (isAccepted) return { state: 'GONE' };
  return { state: notedAtMs !== undefined && notedUntilMs >= notedAtMs ? 'UNKNOWN' : 'UNSURE' };
}

/** True if the order is known to be in the log. */
export function wasAccepted(found: FoundHash): boolean {
  return found.state === 'GONE' || (found.state === 'FOUND' && !found.isInFlight);
}
