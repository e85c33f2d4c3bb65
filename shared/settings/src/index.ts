export * from './deployment.js';
export * from './settings.js';
