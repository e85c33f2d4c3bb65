import { type Address, boundedSeconds, type Maker } from '@makerbook/domain';
import type { HashKey } from '@makerbook/postgres';
import type { LoggedFact } from './read-facts.js';

/**
 * How many of the facts, from the first on, surely lead to no more than `transitionsMax` transitions; at least one fact.
 * The last fact of what was read of a maker can change every open order of the maker, and so can a nonce that moved, so
 * that a thousand facts could make a million messages: such a stretch is committed in pieces.
 * @param dueOrders what is due for the blocks among the facts; it counts with the first of them
 */
export function boundStretch(
  facts: readonly LoggedFact[],
  makers: ReadonlyMap<Address, Maker>,
  transitionsMax: number,
  dueOrders = 0,
): number {
  const openOrders = new Map<Address, number>();
  const openOf = (maker: Address) => openOrders.get(maker) ?? makers.get(maker)?.orders.size ?? 0;
  let transitions = 0;
  let untilBlock = dueOrders;
  for (const [index, { fact }] of facts.entries()) {
    switch (fact.type) {
      case 'NonceChanged':
        transitions += 1 + openOf(fact.maker);
        break;
      case 'BalanceChanged':
      case 'AllowanceChanged':
      case 'OrderFilled':
        transitions += fact.hasMore === undefined ? 1 + openOf(fact.maker) : 1;
        break;
      case 'OrderSubmitted':
        transitions += 1;
        openOrders.set(fact.maker, openOf(fact.maker) + 1);
        break;
      case 'BlockProcessed':
        transitions += 1 + untilBlock;
        untilBlock = 0;
        break;
      default:
        transitions += 1;
    }
    if (transitions > transitionsMax && index > 0) return index;
  }
  return facts.length;
}

/** The hashes that the facts submit, and those that they cancel and that are not open. */
export function hashesToFind(
  facts: readonly LoggedFact[],
  makers: ReadonlyMap<Address, Pick<Maker, 'orders'>>,
): HashKey[] {
  return facts.flatMap(({ fact }) => {
    if (fact.type === 'OrderSubmitted') {
      const { maker, orderHash, order } = fact;
      return { maker, orderHash, expiresAtSeconds: boundedSeconds(BigInt(order.expiresAt)) };
    }
    if (fact.type !== 'OrderCancelled') return [];
    const { maker, orderHash, expiresAtSeconds } = fact;
    return makers.get(maker)?.orders.has(orderHash) === true ? [] : { maker, orderHash, expiresAtSeconds };
  });
}
