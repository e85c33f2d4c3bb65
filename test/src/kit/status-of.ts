import type { BookChange } from '@makerbook/book';

/** A message of the feed about an order. */
export type OrderChange = Exclude<BookChange, { readonly kind: 'clock' }>;

/** The status in a change, with its reason. `nothing` if there is no change. */
export function statusOf(change: OrderChange | undefined): string {
  if (change === undefined) return 'nothing';
  if (change.kind === 'removed') return `gone ${change.removal}`;
  const { entry } = change;
  return entry.status === 'INACTIVE' ? `INACTIVE ${entry.reason}` : entry.status;
}
