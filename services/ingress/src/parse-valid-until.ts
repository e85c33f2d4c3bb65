import { placeHeaders } from '@makerbook/contracts-http';
import { type Refusal, refuseFields } from '@makerbook/http';

/**
 * Reads the header `Valid-Until` of a POST: Unix seconds, after which its orders are not to be stored any more.
 * @returns milliseconds since 1970; undefined without the header
 */
export function parseValidUntil(text: string | string[] | undefined): number | undefined | Refusal {
  const parsed = placeHeaders.safeParse({ 'Valid-Until': text });
  if (!parsed.success) return refuseFields(parsed.error.issues);
  const seconds = parsed.data['Valid-Until'];
  return seconds === undefined ? undefined : seconds * 1000;
}
