export type { BookClock, BookEntry, BookRemovalReason, LogPosition } from '@makerbook/contracts-events';
export * from './acknowledge-clocks.js';
export * from './book.js';
export * from './encode-fill.js';
export * from './follow-book.js';
export * from './hash-book.js';
export * from './quote-orders.js';
export { type Executable, type Pair, RankedOrders, type When } from './rank-orders.js';
export * from './read-recording.js';
