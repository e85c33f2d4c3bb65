import type { BookChange } from '@makerbook/book';

/** What the feed says of an order. */
export type OrderChange = Exclude<BookChange, { readonly kind: 'clock' }>;

/** The status that a change tells, with its reason; `nothing` where there is no change. */
export function statusOf(change: OrderChange | undefined): string {
  if (change === undefined) return 'nothing';
  if (change.kind === 'removed') return `gone ${change.removal}`;
  const { entry } = change;
  return entry.status === 'INACTIVE' ? `INACTIVE ${entry.reason}` : entry.status;
}
