import type { Address } from '@makerbook/contracts-primitives';
import type { FollowedOrders } from '../kit/follow-orders.js';
import { judgeLog, type Verdict } from '../simulation/judge/judge-log.js';
import type { Truth } from '../simulation/judge/judge-order.js';
import type { OrderHistory } from './judge-orders.js';

const ROUTING_GRACE_SECONDS = 60;
const LABEL_LENGTH = 12;

/**
 * Folds the log's facts about the makers of these orders. Compares the state of each order after each processed block
 * with the contracts at that block, or at the newer block at which its maker was read last. `compareFeed` checks that
 * the feed holds the same states.
 */
export function judgeStates(
  orders: readonly OrderHistory[],
  feed: Pick<FollowedOrders, 'facts'>,
  {
    chain,
    protocol,
    partitions,
  }: { readonly chain: Truth['chain']; readonly protocol: Address; readonly partitions: number },
): Verdict {
  const makers = new Set<string>(orders.map(({ signed }) => signed.order.maker));
  const factsOf = (partition: number) =>
    new Map([...feed.facts(partition)].filter(([, fact]) => !('maker' in fact) || makers.has(fact.maker)));
  const { wrong, ...sums } = judgeLog({
    chain,
    protocol,
    graceSeconds: ROUTING_GRACE_SECONDS,
    isSilent: () => false,
    orders: orders.map(({ signed: { order, orderHash }, wasAhead }) => ({
      label: orderHash.slice(0, LABEL_LENGTH),
      hash: orderHash,
      maker: order.maker,
      token: order.making.token,
      taking: order.taking.token,
      amount: BigInt(order.making.amount),
      nonce: BigInt(order.nonce),
      expiresAt: Number(order.expiresAt),
      wasAhead,
    })),
    partitions: Array.from({ length: partitions }, (_, partition) => factsOf(partition)),
    steadyTo: Number.POSITIVE_INFINITY,
    isSwept: true,
  });
  // An order that was accepted while ingress's clock was an hour ahead waits for a block of that time.
  const ahead = new Set(
    orders.flatMap(({ signed, wasAhead }) => (wasAhead ? signed.orderHash.slice(0, LABEL_LENGTH) : [])),
  );
  const isWaiting = (line: string) => ahead.has(line.slice(0, LABEL_LENGTH)) && line.includes(' ends as VALIDATING');
  return { ...sums, wrong: wrong.filter((line) => !isWaiting(line)) };
}
