import type { ChainLog } from '@makerbook/chain';
import type { MakerEvent, OrderFill } from '@makerbook/contracts-events';
import { eventTopics } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { SignedOrder } from '../chain/act-on-chain.js';
import type { Chain } from '../chain/keep-chain.js';

/**
 * Finds fills in a partition's facts that differ from the chain. If the log names a maker before a block, the log must
 * tell all fills of its orders in the block, in the order of the chain, and no others. It makes no difference whether
 * an order is open, has ended or was never posted.
 */
export function judgeFills(
  chain: Chain,
  orders: readonly SignedOrder[],
  facts: Iterable<readonly [offset: bigint, fact: MakerEvent]>,
): string[] {
  const wrong: string[] = [];
  const signed = new Map(orders.map((order) => [order.hash, order]));
  const missing = new Map<string, string>();
  const told = new Set<string>();
  const newest = new Map<Address, number>();
  const [makers, newMakers] = [new Set<Address>(), new Set<Address>()];
  let block: number | undefined;
  for (const [offset, fact] of facts) {
    if ('maker' in fact) newMakers.add(fact.maker);
    const { maker = '0x', fills = [] } = fact.type === 'MakerObserved' ? fact : {};
    for (const fill of fills) {
      const [must, is] = [describeLogged(chain, signed, fill), JSON.stringify(fill, Object.keys(fill).sort())];
      if (must !== is) wrong.push(`the fact at ${offset} tells of the fill ${is}, and the chain has ${must}`);
      missing.delete(keyOf(fill));
      if (told.has(keyOf(fill))) continue;
      told.add(keyOf(fill));
      const place = fill.blockNumber * LOGS_MAX + fill.logIndex;
      if (place < (newest.get(maker) ?? 0)) wrong.push(`the fact at ${offset} tells of ${is} behind a newer fill`);
      newest.set(maker, place);
    }
    if (fact.type !== 'BlockProcessed' || fact.block.number <= (block ?? -1)) continue;
    for (let number = (block ?? fact.block.number) + 1; number <= fact.block.number; number += 1) {
      for (const log of chain.at(number).logs) {
        const whose = isFill(log) ? signed.get(log.topics[2])?.maker : undefined;
        if (whose === undefined || !makers.has(whose) || told.has(keyOf(log))) continue;
        missing.set(keyOf(log), `a fill of ${log.topics[2]} in block ${number} is not told`);
      }
    }
    block = fact.block.number;
    for (const maker of newMakers) makers.add(maker);
  }
  return [...wrong, ...missing.values()];
}

/** The fill at this place as a fact must tell it, undefined if there is none. */
function describeLogged(chain: Chain, signed: ReadonlyMap<Hex, SignedOrder>, { blockNumber, logIndex }: OrderFill) {
  const { header, logs } = chain.at(blockNumber);
  const log = logs[logIndex];
  if (log === undefined || !isFill(log)) return undefined;
  const order = signed.get(log.topics[2]);
  const word = (at: number) => log.data.slice(2 + at * 64, 2 + (at + 1) * 64);
  const [making, taking, remaining] = [1, 2, 3].map((at) => `0x${BigInt(`0x${word(at)}`).toString(16)}`);
  return JSON.stringify({
    blockNumber,
    logIndex,
    makingAmount: making,
    makingToken: order?.token,
    orderHash: log.topics[2],
    remaining,
    taker: `0x${word(0).slice(24)}`,
    takingAmount: taking,
    takingToken: order?.taking,
    timestamp: header.timestamp,
    transactionHash: log.transactionHash,
  });
}

/** More logs than a block has. */
const LOGS_MAX = 1_000_000;

type Fill = ChainLog & { readonly topics: readonly [Hex, Hex, Hex] };

function isFill(log: ChainLog): log is Fill {
  return log.topics[0] === eventTopics.orderFilled && log.topics.length === 3;
}

function keyOf({ blockNumber, logIndex }: Pick<ChainLog, 'blockNumber' | 'logIndex'>): string {
  return `${blockNumber}:${logIndex}`;
}
