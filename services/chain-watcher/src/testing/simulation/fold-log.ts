import type { MakerEvent } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-evm';
import {
  evolve,
  type Funding,
  type Maker,
  type Observed,
  type OpenOrder,
  type Placed,
  rememberHashes,
  type Transition,
  unknownMaker,
} from '@makerbook/domain';

/** An open order with what is known of its maker and funds. */
export interface KnownOrder {
  readonly order: OpenOrder;
  readonly funding: Funding | undefined;
  readonly nonce: Observed | undefined;
  /** False while more is to come of what was read together. */
  readonly isJudged: boolean;
}

/** One partition of the log, folded as the projector does it, a fact at a time. */
export interface Fold {
  apply(fact: MakerEvent, offset: bigint): readonly Transition[];
  /** The newest block that was processed; -1 before the first. */
  processedBlock(): number;
  find(orderHash: Hex): KnownOrder | undefined;
  openOrders(): readonly OpenOrder[];
}

export const GRACE_SECONDS = 4;

export function openFold(): Fold {
  const makers = new Map<Address, Maker>();
  const unjudged = new Set<Address>();
  const makerOf = new Map<Hex, Address>();
  let clockSeconds = 0;
  let processedBlock = -1;
  const hashes = rememberHashes();
  const rules = { routingGraceSeconds: GRACE_SECONDS, ...hashes };
  const applyTo = (maker: Maker, placed: Placed<MakerEvent>): readonly Transition[] => {
    const evolved = evolve(maker, [placed], rules);
    makers.set(maker.maker, evolved.maker);
    hashes.note(evolved.transitions);
    return evolved.transitions;
  };
  return {
    apply: (fact, offset) => {
      const placed = { fact, offset, clockSeconds, processedBlock };
      if (fact.type === 'BlockProcessed') {
        clockSeconds = Math.max(clockSeconds, fact.block.timestamp);
        processedBlock = Math.max(processedBlock, fact.block.number);
        return [...makers.values()].flatMap((maker) => applyTo(maker, placed));
      }
      const transitions = applyTo(makers.get(fact.maker) ?? unknownMaker(fact.maker), placed);
      if ('hasMore' in fact) unjudged.add(fact.maker);
      else if ('block' in fact && fact.type !== 'OrderCancelledOnChain') unjudged.delete(fact.maker);
      if (fact.type === 'OrderSubmitted') makerOf.set(fact.orderHash, fact.maker);
      return transitions;
    },
    processedBlock: () => processedBlock,
    find: (orderHash) => {
      const maker = makers.get(makerOf.get(orderHash) ?? '0x');
      const order = maker?.orders.get(orderHash);
      if (maker === undefined || order === undefined) return undefined;
      const isJudged = !unjudged.has(maker.maker);
      return { order, funding: maker.funding.get(order.order.making.token), nonce: maker.nonce, isJudged };
    },
    openOrders: () => [...makers.values()].flatMap(({ orders }) => [...orders.values()]),
  };
}
