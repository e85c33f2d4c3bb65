import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { Funding } from './maker.js';
import type { OpenOrder } from './open-order.js';

/** One write that can be undone. */
export type Undo =
  | { readonly orders: Hex; readonly before: OpenOrder | undefined }
  | { readonly funding: Address; readonly before: Funding | undefined };

/** @param value undefined: deletes the key */
export function put<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}
