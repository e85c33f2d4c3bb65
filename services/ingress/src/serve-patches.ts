import type { Route } from '@makerbook/http';
import { loadQuoteSigner } from './load-quote-signer.js';
import type { Parts } from './parts.js';
import { createPatchQuote, type PatchQuote } from './patch-quote.js';

/**
 * PATCH /v0/quote/data. It needs no other part of the system. Without a configured key it logs so once, at the start, and
 * answers each request with 503 `unavailable`.
 */
export function createPatch({ settings, logger, metrics, now }: Parts): Route['handle'] {
  const signer = loadQuoteSigner(settings);
  const patch = 'missing' in signer ? refuseAll(signer.missing) : createPatchQuote(signer);
  if ('missing' in signer) logger.warn({ missing: signer.missing }, 'quotes are not patched: settings are missing');
  else logger.info({ signer: signer.address, accepted: [...signer.acceptedSigners] }, 'quotes are patched');
  return async ({ body }) => {
    const reply = patch(body, Math.floor(now() / 1000));
    if (!('code' in reply)) metrics.quotePatched();
    return reply;
  };
}

function refuseAll(missing: readonly string[]): PatchQuote {
  const detail = `quotes cannot be patched here: this service was started without ${missing.join(' and ')}`;
  return () => ({ code: 'unavailable', detail });
}
