export * from './book.js';
export * from './follow-book.js';
