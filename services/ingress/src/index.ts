export { type IngressSettings, readEnvironment, settings } from './env.js';
export { keepTrust, type TrustKeeper } from './keep-trust.js';
export { loadQuoteSigner, type QuoteSigner } from './load-quote-signer.js';
export { type Placement, parsePlacements } from './parse-placements.js';
export { createPatchQuote, type PatchQuote, type PatchQuoteParts } from './patch-quote.js';
export { appendMsMaxOf, createRoutes, type Ingress, type IngressParts, type RouteParts, runIngress } from './run.js';
export { createOrderVerifier, type VerifyOrders } from './verify-orders.js';
