export * from './expect-revert.js';
export * from './start-test-chain.js';
