import { createHash } from 'node:crypto';
import type { ReplyHeaders } from '@makerbook/http';
import type { Budget } from '@makerbook/redis';

/**
 * `RateLimit` and `RateLimit-Policy` of a maker's budget, in the form of the IETF draft (draft 8), as the limit per
 * client has them: `q` the burst, `w` the seconds in which an empty budget fills, `r` what is left, `t` the seconds until it
 * is full, `pk` the budget's owner (hashed). Several makers in one request: the one with the least left.
 */
export function rateHeaders(
  name: string,
  budget: Budget,
  makers: readonly string[],
  remaining: readonly number[],
): ReplyHeaders {
  let least = 0;
  for (const [index, left] of remaining.entries()) if (left < (remaining[least] ?? left)) least = index;
  const left = remaining[least] ?? 0;
  const fullInSeconds = Math.ceil((budget.burst - left) / budget.ratePerSecond);
  const windowSeconds = Math.ceil(budget.burst / budget.ratePerSecond);
  return {
    RateLimit: `"${name}"; r=${left}; t=${fullInSeconds}`,
    'RateLimit-Policy': `"${name}"; q=${budget.burst}; w=${windowSeconds}; pk=:${ownerOf(makers[least] ?? '')}:`,
  };
}

/** `Retry-After` in whole seconds, at least one. */
export function retryAfter(ms: number): ReplyHeaders {
  return { 'Retry-After': String(Math.max(1, Math.ceil(ms / 1000))) };
}

function ownerOf(maker: string): string {
  return createHash('sha256').update(maker).digest().subarray(0, 9).toString('base64');
}
