export * from './hex.js';
export * from './read-values.js';
