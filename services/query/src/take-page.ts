import type { LimitOrderRecord } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';

/** Orders that have all of this. */
export interface ListFilter {
  /** Minimal hex. */
  readonly orderSalt: Hex | undefined;
  readonly making: Hex | undefined;
  readonly taking: Hex | undefined;
  readonly status: readonly LimitOrderRecord['status'][] | undefined;
}

/** Picks records; the same array where nothing is asked for. */
export function pickRecords<T extends { readonly json: Buffer }>(records: readonly T[], only: ListFilter | undefined) {
  if (only === undefined) return records;
  const { orderSalt, making, taking, status } = only;
  return records.filter(({ json }) => {
    const { order, status: own } = JSON.parse(String(json)) as LimitOrderRecord;
    const isMeant = (wanted: Hex | undefined, is: Hex) => wanted === undefined || wanted === is;
    return (
      isMeant(orderSalt, order.salt) &&
      isMeant(making, order.making.token) &&
      isMeant(taking, order.taking.token) &&
      (status === undefined || status.includes(own))
    );
  });
}

/** Which part of a list is asked for. */
export interface Page {
  /** Orders that were accepted at this offset or later. */
  readonly from: bigint | undefined;
  readonly ordersMax: number | undefined;
  /** Which orders; all where it is left out. */
  readonly only?: ListFilter | undefined;
}

/**
 * The page of a list, and where the next page begins if there is one. That is a place in the order of acceptance: new orders come
 * behind it, and removed ones do not move it. So no order is skipped or listed twice.
 */
export function takePage<T extends { readonly acceptedOffset: number }>(
  records: readonly T[],
  { from = 0n, ordersMax = records.length }: Page,
): { readonly records: readonly T[]; readonly next: bigint | undefined } {
  const first = records.findIndex(({ acceptedOffset }) => acceptedOffset >= from);
  if (first < 0) return { records: [], next: undefined };
  const to = first + ordersMax;
  const page = first === 0 && to >= records.length ? records : records.slice(first, to);
  const last = page.at(-1);
  return { records: page, next: to < records.length && last ? BigInt(last.acceptedOffset) + 1n : undefined };
}
