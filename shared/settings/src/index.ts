export * from './connections.js';
export * from './deployment.js';
export * from './settings.js';
