/** Which part of a list is asked for. */
export interface Page {
  /** The end of the page before: the offset of an acceptance. */
  readonly after: number | undefined;
  readonly ordersMax: number | undefined;
}

/**
 * The page of a list, and the cursor of the next page where there is one. A cursor is a place in the order of acceptance:
 * new orders come after all cursors, and removed ones move none. So no order is skipped or listed twice.
 */
export function takePage<T extends { readonly acceptedOffset: number }>(
  records: readonly T[],
  { after = -1, ordersMax = records.length }: Page,
): { readonly records: readonly T[]; readonly nextCursor: string | undefined } {
  const from = records.findIndex(({ acceptedOffset }) => acceptedOffset > after);
  if (from < 0) return { records: [], nextCursor: undefined };
  const to = from + ordersMax;
  const page = from === 0 && to >= records.length ? records : records.slice(from, to);
  const last = page.at(-1);
  return { records: page, nextCursor: to < records.length && last ? String(last.acceptedOffset) : undefined };
}
