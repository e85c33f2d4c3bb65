import type { BlockHeader } from '@makerbook/chain';
import type { Cause, MakerFact } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-evm';
import type { WatchedSet } from './keep-watched-set.js';
import { pairAt, type Touched } from './match-logs.js';
import { type FactReader, readFacts } from './read-facts.js';

/**
 * Reads what was touched. What is read at a block newer than those whose changes are known does not fit to what the log
 * says of the rest of the maker: then all of the maker is read, so that its orders are judged by one block.
 * @param knownBlock up to this block the log says, or these facts will say, what changed
 * @param isWhole makers of whom the log says all at the block to be read at
 * Throws RpcUnavailable or RpcRefused.
 */
export function readTouched(
  reader: FactReader,
  watched: WatchedSet,
  touched: Touched,
  at: BlockHeader,
  knownBlock: number,
  isWhole: (maker: Address) => boolean = () => false,
): Promise<MakerFact[]> {
  return readFacts(reader, at.number > knownBlock ? wholeMakers(touched, watched, isWhole) : touched, at);
}

const CAUSE: Cause = { kind: 'read', occasion: 'CATCH_UP' };

/** Nonce, all pairs and all open orders of every maker of whom anything is touched; each once, with the cause that it has. */
function wholeMakers(touched: Touched, watched: WatchedSet, isWhole: (maker: Address) => boolean): Touched {
  const { pairs, makers, orders } = touched;
  const causes = new Map<string, Cause>();
  for (const { maker, token, cause } of pairs) causes.set(`${maker}${token}`, cause);
  for (const { maker, cause } of makers) causes.set(maker, cause);
  for (const { orderHash, cause } of orders) causes.set(orderHash, cause);
  const isAsTouched = ({ maker }: { readonly maker: Address }) => isWhole(maker);
  const whole: Touched = {
    pairs: pairs.filter(isAsTouched),
    makers: makers.filter(isAsTouched),
    orders: orders.filter(isAsTouched),
  };
  for (const maker of new Set([...orders, ...pairs, ...makers].map((one) => one.maker))) {
    const slot = watched.findWatchedMaker(maker);
    if (slot < 0 || isWhole(maker)) continue;
    whole.makers.push({ maker, cause: causes.get(maker) ?? CAUSE });
    for (const order of watched.ordersOf(slot)) {
      const orderHash = watched.orderHash(order);
      whole.orders.push({ maker, orderHash, cause: causes.get(orderHash) ?? CAUSE });
    }
    for (const pair of watched.pairsOf(slot)) {
      const cause = causes.get(`${maker}${watched.tokenAddress(pair)}`) ?? CAUSE;
      whole.pairs.push(pairAt(pair, watched, cause));
    }
  }
  return whole;
}
