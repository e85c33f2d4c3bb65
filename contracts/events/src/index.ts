export * from './feeds.js';
export * from './maker-events.js';
export * from './messages.js';
export * from './primitives.js';
export * from './topics.js';
