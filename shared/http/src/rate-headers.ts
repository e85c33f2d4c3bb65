import { hash } from 'node:crypto';
import type { Budget } from '@makerbook/domain';
import type { ReplyHeaders } from './reply.js';

/** The base64 of nine bytes. */
const OWNER_CHARACTERS = 12;

/**
 * `RateLimit` and `RateLimit-Policy` of a maker's budget, in the form of the IETF draft (draft 8), like the limit per
 * client: `q` is the burst, `w` the seconds in which an empty budget fills, `r` what is left, `t` the seconds until it
 * is full, `pk` the budget's owner (hashed). Of several makers in one request, shows the one with the least left.
 * @param retryAfterMs when the refused request can succeed; `t` then says the same as `Retry-After`
 */
export function rateHeaders(
  name: string,
  makers: readonly { readonly maker: string; readonly budget: Budget }[],
  remaining: readonly number[],
  retryAfterMs?: number,
): ReplyHeaders {
  let least = 0;
  for (const [index, left] of remaining.entries()) if (left < (remaining[least] ?? left)) least = index;
  const left = remaining[least] ?? 0;
  const owner = makers[least];
  if (owner === undefined) return {};
  const { maker, budget } = owner;
  const fullInSeconds = Math.ceil((budget.burst - left) / budget.ratePerSecond);
  const retryInSeconds = retryAfterMs === undefined ? undefined : Math.max(1, Math.ceil(retryAfterMs / 1000));
  const windowSeconds = Math.ceil(budget.burst / budget.ratePerSecond);
  return {
    RateLimit: `"${name}"; r=${left}; t=${retryInSeconds ?? fullInSeconds}`,
    'RateLimit-Policy': `"${name}"; q=${budget.burst}; w=${windowSeconds}; pk=:${ownerOf(maker)}:`,
    ...(retryInSeconds === undefined ? {} : { 'Retry-After': String(retryInSeconds) }),
  };
}

function ownerOf(maker: string): string {
  return hash('sha256', maker, 'base64').slice(0, OWNER_CHARACTERS);
}
