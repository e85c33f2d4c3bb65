export type { AwaitedCancellations, OrderToCancel } from './cancel-orders.js';
export * from './create-client.js';
export { type Failure, type FieldProblem, MakerbookError, type MakerbookErrorCode } from './errors.js';
export type { HistoryRequest, OrderList } from './read-orders.js';
export type {
  Cancellation,
  ChangeEntry,
  FactCause,
  FillEntry,
  HistoryPage,
  LimitOrderRecord,
  OrderReport,
  TimelineEntry,
} from './records.js';
export { type RetryOptions, retry } from './retry-calls.js';
export { createRequestSigner, type RequestSigner, type SignedOrder, type TypedData } from './sign-requests.js';
