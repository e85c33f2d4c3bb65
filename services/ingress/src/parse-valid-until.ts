import type { IncomingHttpHeaders } from 'node:http';
import { placeHeaders } from '@makerbook/contracts-http';
import { type Refusal, refuseFields } from '@makerbook/http';

/**
 * Reads until when the orders of a POST may be stored: `Valid-Until` in Unix seconds, `Valid-Until-Ms` in milliseconds, the
 * sooner where both are given.
 * @returns milliseconds since 1970; undefined without the headers
 */
export function parseValidUntil(headers: IncomingHttpHeaders): number | undefined | Refusal {
  const given = { 'Valid-Until': headers['valid-until'], 'Valid-Until-Ms': headers['valid-until-ms'] };
  const parsed = placeHeaders.safeParse(given);
  if (!parsed.success) return refuseFields(parsed.error.issues);
  const { 'Valid-Until': seconds, 'Valid-Until-Ms': milliseconds } = parsed.data;
  if (seconds === undefined) return milliseconds;
  return Math.min(seconds * 1000, milliseconds ?? Number.POSITIVE_INFINITY);
}
