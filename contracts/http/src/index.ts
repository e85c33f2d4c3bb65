export * from './orders.js';
export * from './paths.js';
export * from './problems.js';
export * from './quotes.js';
