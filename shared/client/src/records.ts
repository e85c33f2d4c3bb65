import type { Hex } from '@makerbook/contracts-primitives';
import type { SignedOrder } from './sign-requests.js';

interface FilledInPart {
  /** What is left to be filled of the making amount, in hex; not there while nothing of the order is filled. */
  readonly remainingMakingAmount?: Hex | undefined;
}

/** An order as the service answers it. */
export type LimitOrderRecord = SignedOrder &
  FilledInPart &
  (
    | { readonly status: 'VALIDATING' | 'ACTIVE' }
    | { readonly status: 'INACTIVE'; readonly reason: 'INSUFFICIENT_ALLOWANCE' | 'INSUFFICIENT_BALANCE' }
  );

/** What became of one hash. */
export interface Cancellation {
  readonly orderHash: Hex;
  /** `NOT_FOUND`: no open order has the hash, and none can come to have it. */
  readonly status: 'CANCELLED' | 'NOT_FOUND';
}

export interface Block {
  readonly number: number;
  readonly hash: string;
  /** Unix seconds. */
  readonly timestamp: number;
}

/** What led to a fact: a request of the maker, a log of a transaction, a reading, the time of a block, or an operator. */
export type FactCause =
  | { readonly kind: 'request'; readonly requestId: string }
  | { readonly kind: 'log'; readonly block: Block; readonly transactionHash: string; readonly logIndex: number }
  | { readonly kind: 'read'; readonly block: Block; readonly occasion: 'ORDER' | 'CATCH_UP' | 'SWEEP' }
  | { readonly kind: 'block'; readonly block: Block }
  | { readonly kind: 'operator' };

interface OrderState {
  /** The status of an open order, or how the order ended. */
  readonly status:
    | 'VALIDATING'
    | 'ACTIVE'
    | 'INACTIVE'
    | 'CANCELLED'
    | 'CANCELLED_ONCHAIN'
    | 'NONCE_CHANGED'
    | 'FILLED'
    | 'EXPIRED';
  /** There when the order is `INACTIVE`. */
  readonly reason?: 'INSUFFICIENT_ALLOWANCE' | 'INSUFFICIENT_BALANCE' | undefined;
  /** In hex. */
  readonly remainingMakingAmount: Hex;
}

interface LogPlace {
  /** Where the fact is in the log: `<partition>:<offset>`. */
  readonly position: string;
  /** Milliseconds since 1970. */
  readonly loggedAtMs: number;
}

/** What a fact did to the state of an order. */
export interface ChangeEntry extends LogPlace, OrderState {
  /** `WITHHELD`: routers no longer get the order. */
  readonly happened: 'OPENED' | 'CHANGED' | 'WITHHELD' | 'REMOVED';
  readonly cause: FactCause;
}

/** A fill, as the contract logged it; block and index name it. */
export interface FillEntry extends LogPlace {
  readonly happened: 'FILLED';
  /** What the maker sold, and got for it; in hex. */
  readonly makingAmount: Hex;
  readonly takingAmount: Hex;
  readonly taker: string;
  readonly blockNumber: number;
  readonly transactionHash: string;
  readonly logIndex: number;
}

export type TimelineEntry = ChangeEntry | FillEntry;

/** One page of what happened to the maker's orders, oldest first. */
export interface HistoryPage {
  readonly entries: (TimelineEntry & { readonly orderHash: string })[];
  /** The `cursor` of the next page. */
  readonly nextCursor: string;
  /** True if there is a next page already. */
  readonly hasMore: boolean;
}

/** What became of an order. */
export interface OrderReport extends SignedOrder, OrderState {
  /** In hex. */
  readonly filledMakingAmount: Hex;
  /** Milliseconds since 1970. */
  readonly acceptedAtMs: number;
  /** Oldest first: the first entry and the newest ones. */
  readonly timeline: TimelineEntry[];
}
