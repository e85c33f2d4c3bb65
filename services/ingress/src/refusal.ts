import type { Refusal } from '@makerbook/http';

/** A part that the request needs does not answer: 503, to be tried again. Nothing was stored for the request. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
}

/** 503: nothing was stored, and the same request may be sent again: after a second, or after the given time. */
export function unavailable(detail: string, retryAfterSeconds?: number): Refusal {
  if (retryAfterSeconds === undefined) return { code: 'unavailable', detail };
  return { code: 'unavailable', detail, headers: { 'Retry-After': String(retryAfterSeconds) } };
}
