import type { MakerFact } from '@makerbook/contracts-events';
import type { WatchedSet } from './keep-watched-set.js';

/** Whether the log, as far as it was read, does not say this already. */
export function isNews(fact: MakerFact, watched: WatchedSet): boolean {
  switch (fact.type) {
    case 'BalanceChanged':
    case 'AllowanceChanged': {
      const pair = watched.findPair(fact.token, fact.maker);
      if (pair < 0) return false;
      const { balance, allowance } = watched.funding(pair);
      return fact.type === 'BalanceChanged' ? balance !== BigInt(fact.balance) : allowance !== BigInt(fact.allowance);
    }
    case 'NonceChanged': {
      const maker = watched.findWatchedMaker(fact.maker);
      return maker >= 0 && (!watched.isNonceWatched(maker) || watched.nonceOf(maker) !== BigInt(fact.nonce));
    }
    case 'OrderFilled':
    case 'OrderCancelledOnChain':
      return watched.findOpenOrder(fact.orderHash) >= 0;
    default:
      return true;
  }
}
