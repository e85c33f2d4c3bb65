export { type ClientLimit, limitClients } from './limit-clients.js';
export { type OpenServer, openServer, type ServerOptions } from './open-server.js';
export { hasBody, Refused, readBody } from './read-body.js';
export * from './reply.js';
export * from './run-service.js';
export { send } from './send.js';
export { type ApiOptions, type Route, requestIdOf, serveApi } from './serve-api.js';
export * from './serve-ops.js';
