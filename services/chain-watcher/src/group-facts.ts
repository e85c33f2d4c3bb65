import type { MakerFact } from '@makerbook/contracts-events';

/**
 * Puts together what was read of each maker at one block, so that the fold judges its orders once, by all of it: none is
 * ACTIVE in between that is not ACTIVE in the end. What removes orders comes first. Fills come last, as each of them is
 * judged at once, by the nonce and the funds that stand before it.
 * @param facts of one block
 * @returns a group for each maker, to be stored all or none; every fact but the last says that more follows
 */
export function groupFacts(facts: readonly MakerFact[]): MakerFact[][] {
  return [...Map.groupBy(facts, ({ maker }) => maker).values()].map(inOrder);
}

function inOrder(group: readonly MakerFact[]): MakerFact[] {
  const sorted = group.toSorted((a, b) => rankOf(a) - rankOf(b));
  return sorted.map((fact, n) => (n < sorted.length - 1 ? withMore(fact) : fact));
}

function withMore(fact: MakerFact): MakerFact {
  switch (fact.type) {
    case 'NonceChanged':
    case 'AllowanceChanged':
    case 'BalanceChanged':
    case 'OrderFilled':
      return { ...fact, hasMore: true };
    default:
      return fact;
  }
}

function rankOf({ type }: MakerFact): number {
  switch (type) {
    case 'OrderFilled':
      return 3;
    case 'AllowanceChanged':
    case 'BalanceChanged':
      return 2;
    case 'NonceChanged':
      return 1;
    default:
      return 0;
  }
}
