export * from './decide.js';
export * from './describe.js';
export * from './evolve.js';
export * from './judge.js';
export * from './maker.js';
export * from './order.js';
export * from './remember-hashes.js';
