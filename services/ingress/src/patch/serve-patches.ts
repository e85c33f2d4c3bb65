import { isRefusal, type Route, unavailable } from '@makerbook/http';
import type { Parts } from '../parts.js';
import { loadQuoteSigner } from './load-quote-signer.js';
import { createPatchQuote } from './patch-quote.js';

/**
 * Serves PATCH /v0/quote/data, which needs no other part of the system. Without a configured key it logs so once, at
 * the start, and answers each request with 503 `unavailable`.
 */
export function createPatch({
  settings,
  logger,
  metrics,
  now,
}: Pick<Parts, 'settings' | 'logger' | 'metrics' | 'now'>): Route['handle'] {
  const signer = loadQuoteSigner(settings);
  if ('missing' in signer) {
    logger.warn({ missing: signer.missing }, 'quotes are not patched: settings are missing');
    const without = signer.missing.join(' and ');
    return async () => unavailable(`quotes cannot be patched here: this service was started without ${without}`);
  }
  logger.info({ signer: signer.address, accepted: [...signer.acceptedSigners] }, 'quotes are patched');
  const patch = createPatchQuote(signer);
  return async ({ body }) => {
    const reply = patch(body, Math.floor(now() / 1000));
    if (!isRefusal(reply)) metrics.quotePatched();
    return reply;
  };
}
