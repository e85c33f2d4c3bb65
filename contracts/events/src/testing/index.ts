export * from './check-messages.js';
export * from './golden-messages.js';
