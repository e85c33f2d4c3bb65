export * from './deployment.js';
export * from './kafka-connection.js';
export * from './settings.js';
