export * from './reply.js';
export * from './run-service.js';
export { type ApiOptions, type ApiServer, type ClientLimit, type Route, serveApi } from './serve-api.js';
export * from './serve-ops.js';
