export { type IngressSettings, readEnvironment, settings } from './env.js';
export { type Ingress, type IngressParts, runIngress } from './run.js';
