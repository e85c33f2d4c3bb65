import { type Address, unlessAway } from '@makerbook/contracts-primitives';
import type { Cancellation, CancelledHash } from '@makerbook/domain';
import type { ApiRequest, Refusal } from '@makerbook/http';
import { partitionOf } from '@makerbook/kafka';
import { cancelBudgetOf, orderBudgetOf, settledMsOf } from '../limits.js';
import type { Parts } from '../parts.js';
import { refuse } from '../refuse-placements.js';
import type { Proven, ToCancel } from '../verify/prove-cancellations.js';
import type { Decided } from './decide-together.js';

export type CancelDecidingParts = Pick<Parts, 'settings' | 'makers' | 'decide' | 'unplaced'>;

/**
 * Charges the budgets and marks the orders. While Postgres is away a maker can always cancel; this process alone bounds
 * how many hashes that nobody has placed.
 */
export async function decideCancels(
  parts: CancelDecidingParts,
  { requestId, receivedAtMs }: ApiRequest,
  { toCancel, unplaced }: Proven,
): Promise<Decided | undefined | Refusal> {
  const { settings, makers } = parts;
  if (toCancel.size === 0 && unplaced.size === 0) return undefined;
  const budgetOf = (maker: Address) => orderBudgetOf(settings, makers.limitsOf(maker));
  const request: Cancellation = {
    kind: 'cancellation',
    lastsMs: settledMsOf(settings),
    budget: cancelBudgetOf(settings),
    hashes: cancelledHashes(parts, toCancel),
    unplaced: cancelledHashes(parts, unplaced).map((hash) => ({ ...hash, ordersBudget: budgetOf(hash.maker) })),
    rememberedMax: settings.REMEMBERED_HASHES_PER_MAKER_MAX,
  };
  const decided = await unlessAway(parts.decide({ requestId, receivedAtMs, request }));
  for (const [maker, own] of Map.groupBy(request.unplaced, (hash) => hash.maker)) {
    if (decided !== undefined) parts.unplaced.forget(maker);
    else {
      const budget = budgetOf(maker);
      const refusal = parts.unplaced.take(maker, own.length, budget, request.rememberedMax);
      const left = { of: 'orders', makers: [{ maker, budget }], remaining: [0] } as const;
      if (refusal !== undefined) return refuse(refusal, left);
    }
  }
  if (decided?.refusal === undefined) return decided;
  return refuse(decided.refusal, decided.left);
}

export function cancelledHashes({ settings }: Pick<Parts, 'settings'>, toCancel: ToCancel): CancelledHash[] {
  return [...toCancel].map(([orderHash, { maker }]) => {
    return { orderHash, maker, partition: partitionOf(maker, settings.PARTITIONS) };
  });
}
