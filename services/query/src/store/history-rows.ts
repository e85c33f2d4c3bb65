import type { Hex } from '@makerbook/contracts-primitives';

/** What one fact of the log did to an order, or a fill of it. */
export type HistoryEntry = {
  readonly partition: number;
  readonly logOffset: bigint;
  readonly orderHash: Hex;
} & (OrderChange | { readonly happened: 'FILLED'; readonly blockNumber: number; readonly logIndex: number });

/** What a fact did to the state of an order. */
export interface OrderChange {
  readonly happened: 'OPENED' | 'CHANGED' | 'WITHHELD' | 'REMOVED';
  /** The order's status afterwards; of a removed order the one it had last. */
  readonly status: 'VALIDATING' | 'ACTIVE' | 'INACTIVE';
  /** Why it is INACTIVE, or why it was removed. */
  readonly reason: string | null;
  /** What was left of its making amount. */
  readonly remaining: bigint;
  /** Until when a cap of its maker withheld it, in seconds; 0: none did. */
  readonly cappedUntil: number;
}

/** In the order in which one fact does it. */
export const happenings = ['OPENED', 'FILLED', 'CHANGED', 'WITHHELD', 'REMOVED'] as const;
export type Happening = (typeof happenings)[number];

/** A row of a history. */
export interface Row {
  readonly partition: number;
  readonly log_offset: bigint;
  readonly order_hash: Hex;
  readonly happened: Happening;
  /** Where the happening stands among those of one fact. */
  readonly rank: number;
  readonly status: OrderChange['status'];
  readonly reason: string | null;
  readonly remaining: string;
  readonly capped_until: bigint;
  readonly block_number: bigint;
  readonly log_index: number;
}

export function entryOf(row: Row): HistoryEntry {
  const { partition, order_hash: orderHash, happened, status, reason, log_index: logIndex } = row;
  const at = { partition, logOffset: row.log_offset, orderHash };
  if (happened === 'FILLED') return { ...at, happened, blockNumber: Number(row.block_number), logIndex };
  return { ...at, happened, status, reason, remaining: BigInt(row.remaining), cappedUntil: Number(row.capped_until) };
}

const rankOfHappened = `array_position(array['${happenings.join("', '")}'], happened)`;
export const changes = `
  select partition, log_offset, order_hash, maker, happened, status, reason, remaining, capped_until, ${rankOfHappened} as rank,
    -1::bigint as block_number, -1 as log_index
  from order_history`;
export const filled = `
  select partition, log_offset, order_hash, maker, 'FILLED' as happened, null as status, null as reason, null::numeric as remaining,
    0::bigint as capped_until,
    ${happenings.indexOf('FILLED') + 1} as rank, block_number, log_index
  from fills`;
export const inOrder = 'log_offset, order_hash, rank, block_number, log_index';
