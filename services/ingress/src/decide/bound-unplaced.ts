import type { Address, MonotonicMs } from '@makerbook/contracts-primitives';
import {
  type Budget,
  isSpent,
  type Refusal,
  refuseAsRemembered,
  refuseUnplaced,
  spend,
  type Tokens,
} from '@makerbook/domain';

interface Taken {
  readonly tokens: Tokens;
  readonly count: number;
}

export type UnplacedBound = ReturnType<typeof boundUnplaced>;

/**
 * Bounds the cancellations of hashes that nobody can look up while Postgres is down, because each may be remembered for
 * ever. In this process alone, it replaces the makers' budgets of orders and the count of their remembered hashes.
 */
export function boundUnplaced({ monotonicMs }: { readonly monotonicMs: () => MonotonicMs }) {
  const makers = new Map<Address, Taken>();
  return {
    /** Takes hashes of a maker. @returns why they are refused; undefined if they are taken */
    take(maker: Address, count: number, budget: Budget, rememberedMax: number): Refusal | undefined {
      const taken = makers.get(maker) ?? { tokens: { left: undefined, atMs: 0 }, count: 0 };
      const tokens = spend(taken.tokens, budget, count, monotonicMs());
      if (count > budget.burst) return refuseUnplaced(budget, tokens.left, count);
      if (taken.count + count > rememberedMax) return refuseAsRemembered(`the maker's limit is ${rememberedMax}`);
      if (isSpent(tokens.left)) return refuseUnplaced(budget, tokens.left, count);
      makers.set(maker, { tokens, count: taken.count + count });
      return undefined;
    },
    /** Call it when Postgres has decided about the maker again. */
    forget(maker: Address): void {
      makers.delete(maker);
    },
  };
}
