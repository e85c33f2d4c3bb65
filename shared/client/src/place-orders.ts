import type { LimitOrderRecord, Replacement } from '@makerbook/contracts-http';
import { paths } from '@makerbook/contracts-http/paths';
import { readHex, readWhole, UNIX_MS, type Whole } from '@makerbook/contracts-primitives';
import { type Answer, callService, readList, readObject } from './call-service.js';
import { type CancelParts, signCancellations, signSalts } from './cancel-orders.js';
import { MakerbookError } from './errors.js';
import {
  type OrderToReplace,
  readRemaining,
  readSignedOrders,
  type SaltsToReplace,
  type SignedOrder,
} from './take-orders.js';

export interface PlaceOptions {
  /** Milliseconds since 1970: orders that the service judges later are not stored. */
  readonly validUntilMs?: Whole;
  /**
   * With `retry`: when a try ended without an answer and the next one returns `duplicate`, the orders count as stored
   * by the earlier one. Only right for orders that were never posted before this call, as is so when they are freshly
   * signed.
   */
  readonly duplicateCountsAsStored?: boolean;
}

/** POST of orders, alone or in the stead of others. */
export function createPlace({ signing, calling, again, ...parts }: CancelParts) {
  /** @param stored what the answer would have been, where only `duplicate` tells of it */
  function store<T>(
    path: string,
    body: unknown,
    { validUntilMs, duplicateCountsAsStored = false }: PlaceOptions,
    read: (answer: Answer) => T,
    stored: () => T,
  ): Promise<T> {
    const untilMs = validUntilMs === undefined ? undefined : readWhole('validUntilMs', validUntilMs, UNIX_MS);
    const headers = untilMs === undefined ? {} : { 'Valid-Until-Ms': String(untilMs) };
    let mayBeStored = false;
    return again(async () => {
      try {
        return read(await callService({ method: 'POST', path, body, headers }, calling));
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

  const validating = (orders: readonly SignedOrder[]) =>
    orders.map((order) => ({ ...order, status: 'VALIDATING' as const }));

  async function signGone(gone: readonly OrderToReplace[] | SaltsToReplace) {
    if ('salts' in gone) {
      const [left = {}] = readRemaining('gone', [gone]);
      return { ...(await signSalts({ signing, ...parts }, gone)), ...left };
    }
    const signed = await signCancellations(signing, 'gone', gone);
    const remaining = readRemaining('gone', gone);
    // A replacement is of known orders alone.
    return signed.map(({ expiresAt: _, ...item }, index) => ({ ...item, ...remaining[index] }));
  }

  return {
    async placeOrders(orders: readonly SignedOrder[], options: PlaceOptions = {}): Promise<LimitOrderRecord[]> {
      return store(paths.limitOrders, readSignedOrders(orders), options, readList<LimitOrderRecord>, () =>
        validating(orders),
      );
    },

    async replaceOrders(
      gone: readonly OrderToReplace[] | SaltsToReplace,
      orders: readonly SignedOrder[],
      options: PlaceOptions = {},
    ): Promise<Replacement> {
      const place = readSignedOrders(orders);
      const body = { cancel: await signGone(gone), place };
      return store(paths.replacements, body, options, readObject<Replacement>, () => ({
        // Which orders had the salts, the answer that was lost has told.
        cancelled: ('salts' in gone ? [] : gone).map(({ orderHash }) => ({
          orderHash: readHex('orderHash', orderHash, 32),
          status: 'CANCELLED',
        })),
        placed: validating(orders),
      }));
    },
  };
}
