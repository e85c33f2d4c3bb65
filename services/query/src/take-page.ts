/** Which part of a list is asked for. */
export interface Page {
  /** Orders that were accepted at this offset or later. */
  readonly from: bigint | undefined;
  readonly ordersMax: number | undefined;
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
