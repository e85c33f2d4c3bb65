export * from './leave-open.js';
