import type { Address, Hex } from '@makerbook/contracts-primitives';
import { encodeArray } from '@makerbook/postgres';

/** Encodes the makers of rows as a parameter. */
export function encodeMakers(rows: readonly { readonly maker: Address }[]): Buffer {
  return encodeArray(
    'bytea',
    rows.map(({ maker }) => maker),
  );
}

/** Encodes the hashes of rows as a parameter. */
export function encodeHashes(rows: readonly { readonly orderHash: Hex }[]): Buffer {
  return encodeArray(
    'bytea',
    rows.map(({ orderHash }) => orderHash),
  );
}
