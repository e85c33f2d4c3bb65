import type { ChainLog } from '@makerbook/chain';
import type { MakerEvent } from '@makerbook/contracts-events';
import { eventTopics } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';
import type { Chain } from '../chain/keep-chain.js';

/**
 * Finds where the fills of a partition's facts are not those of the chain. Every fill of an order that the log had before the
 * block is told by the end of the log, and nothing else is told; whether the order is still open makes no difference.
 */
export function judgeFills(chain: Chain, facts: Iterable<readonly [offset: bigint, fact: MakerEvent]>): string[] {
  const wrong: string[] = [];
  const missing = new Map<string, string>();
  const told = new Set<string>();
  const known = new Set<Hex>();
  const submitted = new Set<Hex>();
  let block: number | undefined;
  for (const [offset, fact] of facts) {
    if (fact.type === 'OrderSubmitted') submitted.add(fact.orderHash);
    if (fact.type === 'MakerObserved') {
      for (const fill of fact.fills ?? []) {
        const log = chain.at(fill.blockNumber).logs[fill.logIndex];
        const { taker, makingAmount, takingAmount } = fill;
        const data = [taker, makingAmount, takingAmount].map((value) => value.slice(2).padStart(64, '0')).join('');
        const isLogged =
          log !== undefined &&
          isFill(log, fill.orderHash) &&
          log.transactionHash === fill.transactionHash &&
          log.data.startsWith(`0x${data}`) &&
          log.topics[1]?.endsWith(fact.maker.slice(2));
        if (!isLogged)
          wrong.push(`the fact at ${offset} tells of a fill that the chain has not: ${JSON.stringify(fill)}`);
        told.add(keyOf(fill));
        missing.delete(keyOf(fill));
      }
    }
    if (fact.type !== 'BlockProcessed' || fact.block.number <= (block ?? -1)) continue;
    for (let number = (block ?? fact.block.number) + 1; number <= fact.block.number; number += 1) {
      for (const log of chain.at(number).logs) {
        const orderHash = log.topics[2];
        if (orderHash === undefined || !known.has(orderHash) || !isFill(log, orderHash) || told.has(keyOf(log)))
          continue;
        missing.set(keyOf(log), `a fill of ${orderHash} in block ${number} is not told`);
      }
    }
    block = fact.block.number;
    for (const hash of submitted) known.add(hash);
    submitted.clear();
  }
  return [...wrong, ...missing.values()];
}

function isFill({ topics }: ChainLog, orderHash: Hex): boolean {
  return topics[0] === eventTopics.orderFilled && topics[2] === orderHash;
}

function keyOf({ blockNumber, logIndex }: Pick<ChainLog, 'blockNumber' | 'logIndex'>): string {
  return `${blockNumber}:${logIndex}`;
}
