export * from './connections.js';
export * from './deployment.js';
export * from './make-folder.js';
export * from './read-options.js';
export * from './settings.js';
