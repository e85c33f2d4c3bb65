export type { BookClock, BookEntry, BookRemovalReason, LogPosition } from '@makerbook/contracts-events';
export * from './book.js';
export * from './follow-book.js';
export * from './hash-book.js';
