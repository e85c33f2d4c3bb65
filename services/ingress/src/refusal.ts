import type { Refusal } from '@makerbook/http';

/** 503: nothing was stored, and the same request may be sent again: after a second, or after the given time. */
export function unavailable(detail: string, retryAfterSeconds?: number): Refusal {
  const headers = retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) };
  return { code: 'unavailable', detail, headers };
}
