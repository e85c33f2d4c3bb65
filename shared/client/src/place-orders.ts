import type { LimitOrderRecord, Replacement } from '@makerbook/contracts-http';
import { paths } from '@makerbook/contracts-http/paths';
import { callService, readList, readObject } from './call-service.js';
import { type CancelParts, type OrderToCancel, signCancellations } from './cancel-orders.js';
import { MakerbookError } from './errors.js';
import { lowerHex, type SignedOrder } from './sign-requests.js';

export interface PlaceOptions {
  /** Milliseconds since 1970: orders that the service judges later are not stored. */
  readonly validUntilMs?: number;
  /**
   * With `retry`: when a try ended without an answer and the next one returns `duplicate`, the orders count as stored by
   * the earlier one. Only right for orders that were never posted before this call, as is so when they are freshly signed.
   */
  readonly duplicateCountsAsStored?: boolean;
}

/** POST of orders, alone or in the stead of others. */
export function createPlace({ signing, calling, again }: CancelParts) {
  /** @param stored what the answer would have been, where only `duplicate` tells of it */
  function store<T>(
    path: string,
    body: unknown,
    { validUntilMs, duplicateCountsAsStored = false }: PlaceOptions,
    read: (text: string) => T,
    stored: () => T,
  ): Promise<T> {
    const headers = validUntilMs === undefined ? {} : { 'Valid-Until-Ms': String(validUntilMs) };
    let mayBeStored = false;
    return again(async () => {
      try {
        return read((await callService({ method: 'POST', path, body, headers }, calling)).text);
      } catch (error) {
        if (!(error instanceof MakerbookError)) throw error;
        if (error.code === 'duplicate' && mayBeStored && duplicateCountsAsStored) return stored();
        mayBeStored ||= error.mayHaveHappened;
        if (!mayBeStored || error.mayHaveHappened) throw error;
        // Other refusals are judged before `duplicate`: they say nothing of an earlier try.
        throw new MakerbookError({ ...error, mayHaveHappened: true, cause: error });
      }
    });
  }

  const bodyOf = (orders: readonly SignedOrder[]) => orders.map(({ order, signature }) => ({ order, signature }));
  const validating = (orders: readonly SignedOrder[]) =>
    orders.map((order) => ({ ...order, status: 'VALIDATING' as const }));

  return {
    placeOrders(orders: readonly SignedOrder[], options: PlaceOptions = {}): Promise<LimitOrderRecord[]> {
      return store(paths.limitOrders, bodyOf(orders), options, readList<LimitOrderRecord>, () => validating(orders));
    },

    async replaceOrders(
      gone: readonly OrderToCancel[],
      orders: readonly SignedOrder[],
      options: PlaceOptions = {},
    ): Promise<Replacement> {
      const body = { cancel: await signCancellations(signing, gone), place: bodyOf(orders) };
      return store(paths.replacements, body, options, readObject<Replacement>, () => ({
        cancelled: gone.map(({ orderHash }) => ({ orderHash: lowerHex(orderHash, 32), status: 'CANCELLED' })),
        placed: validating(orders),
      }));
    },
  };
}
