import type { Cancellation, LimitOrderRecord, Replacement, TimelineEntry } from '@makerbook/contracts-http';
import { paths } from '@makerbook/contracts-http/paths';
import { readHex, readWhole, UNIX_MS, type Whole } from '@makerbook/contracts-primitives';
import { type Answer, callService, readList, readObject } from './call-service.js';
import { type CancelParts, signCancellations, signSalts } from './cancel-orders.js';
import { MakerbookError, thatMayHaveHappened } from './errors.js';
import type { OrderReads } from './read-orders.js';
import {
  type OrderToReplace,
  readRemaining,
  readSignedOrders,
  type SaltsToReplace,
  type SignedOrder,
} from './take-orders.js';

export interface PlaceOptions {
  /** Milliseconds since 1970. The service does not store orders that it judges later. */
  readonly validUntilMs?: Whole;
  /**
   * With `retry`: if a try got no answer and the next one returns `duplicate`, the orders count as stored by the
   * earlier try. Use it only for orders that were never posted before this call, such as freshly signed ones.
   */
  readonly duplicateCountsAsStored?: boolean;
}

/** POST of orders, alone or as a replacement. */
export function createPlace({ signing, calling, again, ...parts }: CancelParts, reads: OrderReads) {
  /** @returns undefined if only `duplicate` tells that the orders were stored */
  async function store<T>(
    path: string,
    body: unknown,
    { validUntilMs, duplicateCountsAsStored = false }: PlaceOptions,
    read: (answer: Answer) => T,
  ): Promise<T | undefined> {
    const untilMs = validUntilMs === undefined ? undefined : readWhole('validUntilMs', validUntilMs, UNIX_MS);
    const headers = untilMs === undefined ? {} : { 'Valid-Until-Ms': String(untilMs) };
    try {
      return await again(async () => read(await callService({ method: 'POST', path, body, headers }, calling)));
    } catch (error) {
      const isDuplicate = error instanceof MakerbookError && error.code === 'duplicate';
      // Only `duplicate` proves that an earlier try was stored: the service checks the other refusals first.
      if (isDuplicate && error.mayHaveHappened && duplicateCountsAsStored) return undefined;
      throw error;
    }
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
    // A replacement takes only orders that the service knows, so it has no expiry.
    return signed.map(({ expiresAt: _, ...item }, index) => ({ ...item, ...remaining[index] }));
  }

  return {
    async placeOrders(orders: readonly SignedOrder[], options: PlaceOptions = {}): Promise<LimitOrderRecord[]> {
      const body = readSignedOrders(orders);
      return (await store(paths.limitOrders, body, options, readList<LimitOrderRecord>)) ?? validating(orders);
    },

    async replaceOrders(
      gone: readonly OrderToReplace[] | SaltsToReplace,
      orders: readonly SignedOrder[],
      options: PlaceOptions = {},
    ): Promise<Replacement> {
      const place = readSignedOrders(orders);
      const body = { cancel: await signGone(gone), place };
      const answer = await store(paths.replacements, body, options, readObject<Replacement>);
      if (answer !== undefined) return answer;
      const hashes = 'salts' in gone ? await readCancelled(reads, orders) : gone.map(({ orderHash }) => orderHash);
      const cancelled = hashes.map((hash): Cancellation => {
        return { orderHash: readHex('orderHash', hash, 32), status: 'CANCELLED' };
      });
      return { cancelled, placed: validating(orders) };
    },
  };
}

/**
 * Reads from the maker's history which orders a stored replacement has cancelled. All facts of a request have its id
 * and the same time.
 */
async function readCancelled({ findOrder, readHistory }: OrderReads, [placed]: readonly SignedOrder[]) {
  try {
    const { timeline } = await findOrder(placed?.orderHash ?? '');
    const opened = timeline.find(({ happened }) => happened === 'OPENED');
    const fromMs = opened?.loggedAtMs ?? 0;
    const cancelled: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const { entries, hasMore, nextCursor } = await readHistory({ happened: ['REMOVED'], fromMs, cursor });
      const ofThen = entries.filter(({ loggedAtMs }) => loggedAtMs === fromMs);
      cancelled.push(...ofThen.filter((entry) => requestOf(entry) === requestOf(opened)).map((one) => one.orderHash));
      if (!hasMore || ofThen.length < entries.length) return cancelled;
      cursor = nextCursor;
    }
  } catch (error) {
    throw error instanceof MakerbookError ? thatMayHaveHappened(error) : error;
  }
}

function requestOf(entry: TimelineEntry | undefined): string | undefined {
  return entry !== undefined && 'cause' in entry && entry.cause.kind === 'request' ? entry.cause.requestId : undefined;
}
