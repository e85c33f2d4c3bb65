import type { Refusal } from '@makerbook/http';

/**
 * Reads the header `Valid-Until` of a POST: Unix seconds, after which its orders are not to be stored any more.
 * @returns milliseconds since 1970; undefined without the header
 */
export function parseValidUntil(text: string | string[] | undefined): number | undefined | Refusal {
  if (text === undefined) return undefined;
  if (typeof text === 'string' && /^[0-9]{1,12}$/.test(text)) return Number(text) * 1000;
  const detail = 'must be Unix seconds, given once';
  return {
    code: 'invalid_request',
    detail: `the header Valid-Until ${detail}`,
    errors: [{ pointer: '/Valid-Until', detail }],
  };
}
