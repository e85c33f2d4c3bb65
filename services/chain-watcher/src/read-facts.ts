import {
  allowance,
  type BlockHeader,
  balanceOf,
  cancelledOf,
  filledOf,
  nonceOf,
  RpcUnavailable,
  type StateCall,
  type StateReader,
} from '@makerbook/chain';
import type { BlockRef, MakerFact } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-evm';
import { quantity } from '@makerbook/domain';
import type { Touched } from './match-logs.js';

/** What it takes to read a maker's state on the chain. */
export interface FactReader {
  readonly state: StateReader;
  readonly protocol: Address;
  /** Told of each value of a token that cannot be read, and counts as zero. */
  readonly onUnreadable: (token: Address, what: 'balance' | 'allowance', block: BlockRef) => void;
}

/**
 * Reads everything that was touched, at exactly this block, and gives it as facts with absolute values; `groupFacts`
 * puts them in order. What is filled of an order is said when it is nothing, too: it says that the order was looked at.
 * Throws RpcUnavailable or RpcRefused.
 */
export async function readFacts(reader: FactReader, touched: Touched, header: BlockHeader): Promise<MakerFact[]> {
  const { protocol } = reader;
  const calls: StateCall[] = [];
  for (const { orderHash } of touched.orders)
    calls.push(filledOf(protocol, orderHash), cancelledOf(protocol, orderHash));
  for (const { maker } of touched.makers) calls.push(nonceOf(protocol, maker));
  for (const { maker, token } of touched.pairs) calls.push(allowance(token, maker, protocol), balanceOf(token, maker));
  if (calls.length === 0) return [];

  const values = await reader.state.read(header.hash, calls);
  const block = blockRefOf(header);
  let next = 0;
  const take = () => values[next++];
  const takeOfProtocol = () => {
    const value = take();
    if (value === undefined) throw new RpcUnavailable(`the LimitOrderProtocol at ${protocol} cannot be read`);
    return value;
  };
  const takeOfToken = (token: Address, what: 'balance' | 'allowance') => {
    const value = take();
    if (value === undefined) reader.onUnreadable(token, what, block);
    return quantity(value ?? 0n);
  };

  const facts: MakerFact[] = [];
  for (const { maker, orderHash, cause } of touched.orders) {
    const filled = takeOfProtocol();
    const isCancelled = takeOfProtocol() !== 0n;
    if (isCancelled) facts.push({ type: 'OrderCancelledOnChain', maker, orderHash, block, cause });
    facts.push({ type: 'OrderFilled', maker, orderHash, filledMakingAmount: quantity(filled), block, cause });
  }
  for (const { maker, cause } of touched.makers) {
    facts.push({ type: 'NonceChanged', maker, nonce: quantity(takeOfProtocol()), block, cause });
  }
  for (const { maker, token, cause } of touched.pairs) {
    facts.push(
      { type: 'AllowanceChanged', maker, token, allowance: takeOfToken(token, 'allowance'), block, cause },
      { type: 'BalanceChanged', maker, token, balance: takeOfToken(token, 'balance'), block, cause },
    );
  }
  return facts;
}

/** The block as facts name it. */
export function blockRefOf({ number, hash, timestamp }: BlockHeader): BlockRef {
  return { number, hash, timestamp };
}
