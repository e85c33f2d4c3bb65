import type { BlockHeader } from '@makerbook/chain';
import type { Cause, MakerFact } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-evm';
import { isNews } from './is-news.js';
import type { WatchedSet } from './keep-watched-set.js';
import { pairAt, type Touched, type TouchedOrder } from './match-logs.js';
import { type FactReader, readFacts } from './read-facts.js';

const CAUSE: Cause = { kind: 'read', occasion: 'CATCH_UP' };

/**
 * Reads watched makers anew, each with nonce, pairs and orders at one block, and gives facts only of what the log does not
 * already say. Goes through their slots from `from` on, until there is enough for one request or two.
 * @param changed the orders to be read, beside those that joined since the last block was matched; undefined: all that
 * are open
 * @returns the facts, and the slot to go on from; undefined when none is left
 */
export async function rereadMakers(
  reader: FactReader,
  watched: WatchedSet,
  header: BlockHeader,
  changed: ReadonlyMap<Address, readonly TouchedOrder[]> | undefined,
  from: number,
): Promise<{ facts: MakerFact[]; next: number | undefined; makers: number }> {
  const touched: Touched = { pairs: [], makers: [], orders: [] };
  const end = watched.slotsEnd;
  let slot = from;
  for (; slot < end && touched.pairs.length + touched.orders.length < READ_MAX; slot += 1) {
    if (!watched.isMakerWatched(slot)) continue;
    const maker = watched.makerAddress(slot);
    touched.makers.push({ maker, cause: CAUSE });
    for (const pair of watched.pairsOf(slot)) touched.pairs.push(pairAt(pair, watched, CAUSE));
    const named = changed?.get(maker) ?? [];
    touched.orders.push(...named);
    for (const order of watched.ordersOf(slot)) {
      const orderHash = watched.orderHash(order);
      if (changed !== undefined && !watched.hasMissedMatch(order)) continue;
      if (named.every((each) => each.orderHash !== orderHash)) touched.orders.push({ maker, orderHash, cause: CAUSE });
    }
  }
  const facts = await readFacts(reader, touched, header);
  return {
    facts: facts.filter((fact) => isNews(fact, watched)),
    next: slot < end ? slot : undefined,
    makers: touched.makers.length,
  };
}

const READ_MAX = 500;
