export * from './feed-records.js';
export { addressOf, entryOf, type Given, openRouterBook, pair } from './router-book.js';
