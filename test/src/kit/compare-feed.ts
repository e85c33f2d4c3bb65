import { PartitionFold } from '@makerbook/chain-watcher/testing';
import type { Transition } from '@makerbook/domain';
import type { FollowedOrders } from './follow-orders.js';
import type { OrderChange } from './status-of.js';

const ROUTING_GRACE_SECONDS = 60;

/**
 * Finds orders whose messages differ from those of a fold of the log, each once and in order. Call it while nothing is
 * appended. `verifyRows` compares the rows with a replay.
 * @param partitions the number of partitions of the log
 */
export function compareFeed(feed: Pick<FollowedOrders, 'facts' | 'changes'>, partitions: number): string[] {
  const expected = new Map<string, string[]>();
  for (let partition = 0; partition < partitions; partition += 1) {
    const fold = new PartitionFold({ routingGraceSeconds: ROUTING_GRACE_SECONDS });
    for (const [offset, fact] of feed.facts(partition))
      for (const transition of fold.apply(fact, offset)) {
        const line = messageOf(transition);
        if (line === undefined || !('order' in transition)) continue;
        const { orderHash } = transition.order;
        expected.set(orderHash, [...(expected.get(orderHash) ?? []), line]);
      }
  }
  return [...expected].flatMap(([orderHash, lines]) => {
    const found = feed.changes(orderHash).map(lineOf);
    return found.join() === lines.join() ? [] : [`messages about ${orderHash}: ${found}; by the fold ${lines}`];
  });
}

function messageOf(transition: Transition): string | undefined {
  switch (transition.kind) {
    case 'OrderOpened':
    case 'OrderChanged':
    case 'FundsChanged':
      if (!transition.order.inBook) return undefined;
      return `${transition.offset} ${transition.order.state.status} ${transition.order.remaining}`;
    case 'OrderWithheld':
      return `${transition.offset} gone ${transition.reason}`;
    case 'OrderRemoved':
      return transition.order.inBook ? `${transition.offset} gone ${transition.reason}` : undefined;
    default:
      return undefined;
  }
}

function lineOf(change: OrderChange): string {
  const { offset } = change.id;
  if (change.kind === 'removed') return `${offset} gone ${change.removal}`;
  return `${offset} ${change.entry.status} ${BigInt(change.entry.remainingMakingAmount)}`;
}
