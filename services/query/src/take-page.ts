/** Which part of a list is asked for. */
export interface Page {
  /** Where the page before ended: the offset of an acceptance. */
  readonly after: number | undefined;
  readonly ordersMax: number | undefined;
}

/** What a list holds is in the order of acceptance; acceptances have different offsets. */
interface Accepted {
  readonly acceptedOffset: number | bigint;
}

/**
 * The page of a list, and the cursor of the next page where there is one. A cursor is a place in the order of acceptance:
 * orders that come are behind all cursors, and those that go move none. So no order is passed over or listed twice.
 */
export function takePage<T extends Accepted>(
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
