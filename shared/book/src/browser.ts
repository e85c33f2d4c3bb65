/** The exports that run in a browser without a bundler. They neither parse nor hash. */

export type { BookChange, FeedRecord } from './book.js';
export * from './quote-orders.js';
export { type Executable, type Pair, RankedOrders, type When } from './rank-orders.js';
export * from './read-fills.js';
export { FeedLost, type HttpFeedOptions, readOverHttp } from './read-over-http.js';
