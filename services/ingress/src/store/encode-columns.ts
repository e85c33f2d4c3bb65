import type { Address, Hex } from '@makerbook/contracts-primitives';
import { encodeArray } from '@makerbook/postgres';

/** The makers of rows, as a parameter. */
export function encodeMakers(rows: readonly { readonly maker: Address }[]): Buffer {
  return encodeArray(
    'bytea',
    rows.map(({ maker }) => maker),
  );
}

/** Likewise their hashes. */
export function encodeHashes(rows: readonly { readonly orderHash: Hex }[]): Buffer {
  return encodeArray(
    'bytea',
    rows.map(({ orderHash }) => orderHash),
  );
}
