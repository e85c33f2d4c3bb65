export type {
  Cancellation,
  CancelledAll,
  FactCause,
  FieldProblem,
  LimitOrderRecord,
  OrderHistory,
  OrderReport,
  Replacement,
  TimelineEntry,
} from '@makerbook/contracts-http';
export type { CancelAllScope, FillCap } from './cancel-all.js';
export type { AwaitedCancellations, OrderToCancel, WaitOptions } from './cancel-orders.js';
export * from './create-client.js';
export { type Failure, MakerbookError, type MakerbookErrorCode } from './errors.js';
export type { PlaceOptions } from './place-orders.js';
export type { FindOptions, HistoryRequest, OrderList } from './read-orders.js';
export { type RetryOptions, retry } from './retry-calls.js';
export { createRequestSigner, type RequestSigner, type SignedOrder, type TypedData } from './sign-requests.js';
export type { OrderEvent, StreamOptions } from './stream-orders.js';
export { type Receipt, readReceipt, verifyReceipt } from './verify-receipts.js';
