export { followProjection } from './acknowledge/follow-projection.js';
export { decideTogether } from './decide/decide-together.js';
export { keepTrust } from './decide/keep-trust.js';
export { ingressSettings } from './env.js';
export { parsePlacements } from './parse/parse-placements.js';
export { createPatchQuote } from './patch/patch-quote.js';
export { createRoutes, type Ingress, runIngress } from './run.js';
export { openStore } from './store/open-store.js';
export type {
  FoundBySalt,
  FoundRows,
  Group,
  ReadAndWrite,
  Reading,
  Store,
  Trust,
  Wanted,
  WantedSalts,
} from './store/store.js';
export { proveSignatures } from './verify/prove-orders.js';
