export * from './feed-records.js';
export { askOracle, type OracleBook } from './quote-oracle.js';
export { addressOf, entryOf, type Given, openRouterBook, pair } from './router-book.js';
