export * from './examples.js';
export * from './info.js';
export * from './operations.js';
export * from './orders.js';
export * from './parameters.js';
export * from './paths.js';
export * from './problems.js';
export * from './quotes.js';
