export { ingressSettings } from './env.js';
export { followRows } from './follow-rows.js';
export { keepTrust } from './keep-trust.js';
export { parsePlacements } from './parse-placements.js';
export { createPatchQuote } from './patch-quote.js';
export { createRoutes, runIngress } from './run.js';
export { createOrderVerifier } from './verify-orders.js';
