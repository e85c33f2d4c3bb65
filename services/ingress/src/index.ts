export { ingressSettings } from './env.js';
export { keepTrust } from './keep-trust.js';
export { loadQuoteSigner } from './load-quote-signer.js';
export { parsePlacements } from './parse-placements.js';
export { createPatchQuote, type PatchQuote } from './patch-quote.js';
export { createRoutes, runIngress } from './run.js';
export { createOrderVerifier } from './verify-orders.js';
