export * from './orders.js';
export * from './paths.js';
export * from './problems.js';
