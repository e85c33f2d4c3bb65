import type { Address } from '@makerbook/contracts-primitives';
import type { Budget } from '@makerbook/domain';
import type { Parts } from './parts.js';

/** Why no more hashes are taken of a maker: its budget holds fewer when full, or now, or too many were taken. */
export type UnplacedRefusal =
  | { readonly kind: 'over_budget' | 'too_many_remembered' }
  | { readonly kind: 'rate_limited'; readonly retryAfterMs: number };

interface Taken {
  tokens: number;
  atMs: number;
  count: number;
}

export type UnplacedBound = ReturnType<typeof boundUnplaced>;

/**
 * Bounds the cancellations of hashes that nobody can look up while Postgres is away: each may be remembered for ever. It stands
 * in for the makers' budgets of orders and for what is remembered of them, in this process alone.
 */
export function boundUnplaced({ now }: Pick<Parts, 'now'>) {
  const makers = new Map<Address, Taken>();
  return {
    /** @returns undefined where they are taken */
    take(maker: Address, count: number, budget: Budget, rememberedMax: number): UnplacedRefusal | undefined {
      if (count > budget.burst) return { kind: 'over_budget' };
      const nowMs = now();
      const taken = makers.get(maker) ?? { tokens: budget.burst, atMs: nowMs, count: 0 };
      const filled = taken.tokens + (Math.max(0, nowMs - taken.atMs) * budget.ratePerSecond) / 1000;
      const tokens = Math.min(budget.burst, filled) - count;
      if (taken.count + count > rememberedMax) return { kind: 'too_many_remembered' };
      if (tokens < 0) return { kind: 'rate_limited', retryAfterMs: Math.ceil((-tokens * 1000) / budget.ratePerSecond) };
      makers.set(maker, { tokens, atMs: Math.max(nowMs, taken.atMs), count: taken.count + count });
      return undefined;
    },
    /** Postgres has decided about the maker again. */
    forget(maker: Address): void {
      makers.delete(maker);
    },
  };
}
