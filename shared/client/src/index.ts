export type { AwaitedCancellations, OrderToCancel } from './cancel-orders.js';
export * from './create-client.js';
export { MakerbookError, type MakerbookErrorCode } from './errors.js';
export { type RetryOptions, retry } from './retry-calls.js';
export { createRequestSigner, type RequestSigner, type SignedOrder } from './sign-requests.js';
