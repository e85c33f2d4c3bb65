export type {
  CancelKeysAnswer,
  Cancellation,
  CancelledAll,
  FactCause,
  FieldProblem,
  FillCapAnswer,
  HeartbeatAnswer,
  LimitOrderRecord,
  OrderHistory,
  OrderReport,
  Problem,
  Replacement,
  TimelineEntry,
} from '@makerbook/contracts-http';
export { readPrivateKey, type Uint256, type Whole, WrongValue } from '@makerbook/contracts-primitives';
export type { CancelAllScope, FillCap, Readers } from './cancel-all.js';
export type { AwaitedCancellations, WaitOptions } from './cancel-orders.js';
export * from './create-client.js';
export { type Failure, MakerbookError, type MakerbookErrorCode } from './errors.js';
export type { PlaceOptions } from './place-orders.js';
export type { FindOptions, HistoryRequest, ListFilter, OrderList } from './read-orders.js';
export { type RetryOptions, retry } from './retry-calls.js';
export type { DomainOptions, TypedData } from './sign-requests.js';
export type { OrderEvent, StreamOptions } from './stream-orders.js';
export type {
  AmountOfToken,
  OrderDraft,
  OrderTerms,
  OrderToCancel,
  OrderToReplace,
  SaltsToCancel,
  SaltsToReplace,
  SignedOrder,
} from './take-orders.js';
export { type Receipt, readReceipt, verifyReceipt } from './verify-receipts.js';
