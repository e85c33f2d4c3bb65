export * from './ask-code.js';
export * from './ask-wallets.js';
export * from './call-node.js';
export * from './encode-calls.js';
export * from './failures.js';
export { bloomHolds } from './match-bloom.js';
export * from './read-blocks.js';
export * from './read-state.js';
export * from './subscribe-heads.js';
