import type { MakerFact } from '@makerbook/contracts-events';
import type { WatchedSet } from './keep-watched-set.js';

/**
 * Puts the facts of one block in an order in which no order is ACTIVE in between that is not ACTIVE in the end: the fold
 * takes them one by one, and the router is told each time. What makes an order fillable comes last: funds that fall
 * before funds that rise, and a fill, which lowers what is left to fund, behind the funds where they are not enough for
 * the rest. Else a fill comes first, so that an order is not without funds that only paid for its own fill.
 */
export function orderFacts(facts: readonly MakerFact[], watched: WatchedSet): MakerFact[] {
  const read = new Map<string, bigint>();
  for (const fact of facts) {
    if (fact.type === 'BalanceChanged' || fact.type === 'AllowanceChanged') read.set(nameOf(fact), fundIn(fact));
  }
  const fundsAfter = (fact: Pick<MakerFact, 'maker'>, token: string, pair: number): readonly (bigint | undefined)[] => {
    const { balance, allowance } = watched.funding(pair);
    const { maker } = fact;
    return [
      read.get(nameOf({ type: 'BalanceChanged', maker, token })) ?? balance,
      read.get(nameOf({ type: 'AllowanceChanged', maker, token })) ?? allowance,
    ];
  };
  const rankOf = (fact: MakerFact): number => {
    switch (fact.type) {
      case 'OrderFilled': {
        const order = watched.findOpenOrder(fact.orderHash);
        if (order < 0) return RANKS.orders;
        const pair = watched.pairOf(order);
        const remaining = watched.amountOf(order) - BigInt(fact.filledMakingAmount);
        const funds = fundsAfter(fact, watched.tokenAddress(pair), pair);
        const isShort = funds.some((value) => value !== undefined && value < remaining);
        return isShort ? RANKS.fillsWithoutFunds : RANKS.orders;
      }
      case 'NonceChanged':
        return RANKS.nonces;
      case 'BalanceChanged':
      case 'AllowanceChanged': {
        const { balance, allowance } = watched.funding(watched.findPair(fact.token, fact.maker));
        const known = fact.type === 'BalanceChanged' ? balance : allowance;
        return known !== undefined && fundIn(fact) < known ? RANKS.fallingFunds : RANKS.risingFunds;
      }
      default:
        return RANKS.orders;
    }
  };
  return facts
    .map((fact) => ({ fact, rank: rankOf(fact) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ fact }) => fact);
}

const RANKS = { orders: 0, nonces: 1, fallingFunds: 2, risingFunds: 3, fillsWithoutFunds: 4 } as const;

function nameOf({
  type,
  maker,
  token,
}: {
  readonly type: string;
  readonly maker: string;
  readonly token: string;
}): string {
  return `${type} ${maker} ${token}`;
}

function fundIn(fact: Extract<MakerFact, { type: 'BalanceChanged' | 'AllowanceChanged' }>): bigint {
  return BigInt(fact.type === 'BalanceChanged' ? fact.balance : fact.allowance);
}
