import type { Address, Hex } from '@makerbook/contracts-primitives';
import { type Refusal, rateHeaders } from '@makerbook/http';
import { partitionOf } from '@makerbook/kafka';
import { type MarkUnplacedOutcome, unlessAway } from '@makerbook/postgres';
import { release, type Written } from './append-facts.js';
import type { UnplacedRefusal } from './bound-unplaced.js';
import type { ToCancel } from './cancel-orders.js';
import { type Parts, settledMsOf } from './parts.js';
import { orderBudgetOf } from './place-orders.js';

/**
 * Charges cancellations of hashes that nobody has placed, as far as is known, like orders of their makers: each may be remembered
 * for ever. While Postgres is away this process counts alone.
 * @returns what is marked
 */
export async function chargeUnplaced(parts: Parts, unplaced: ToCancel): Promise<readonly Written[] | Refusal> {
  const written: Written[] = [];
  const byMaker = Map.groupBy(unplaced, ([, { maker }]) => maker);
  for (const [maker, own] of byMaker) {
    const orderHashes = own.map(([orderHash]) => orderHash);
    const outcome = await mark(parts, maker, orderHashes);
    if (outcome === undefined) continue;
    if (outcome.kind !== 'marked') {
      await release(parts, written);
      return refuse(parts, maker, outcome);
    }
    written.push({ orderHashes, untilMs: outcome.untilMs });
  }
  return written;
}

/** @returns undefined where the process alone has taken them */
async function mark(
  { settings, store, makers, unplaced, now }: Parts,
  maker: Address,
  orderHashes: readonly Hex[],
): Promise<MarkUnplacedOutcome | UnplacedRefusal | undefined> {
  const budget = orderBudgetOf(settings, makers.limitsOf(maker));
  const rememberedMax = settings.REMEMBERED_HASHES_PER_MAKER_MAX;
  const asked = { nowMs: now(), lastsMs: settledMsOf(settings), maker, budget, rememberedMax, orderHashes };
  const outcome = await unlessAway(
    store.markUnplaced({ ...asked, partition: partitionOf(maker, settings.PARTITIONS) }),
  );
  if (outcome === undefined) return unplaced.take(maker, orderHashes.length, budget, rememberedMax);
  unplaced.forget(maker);
  return outcome;
}

type Refused = Exclude<MarkUnplacedOutcome, { kind: 'marked' }> | UnplacedRefusal;

function refuse({ settings, makers }: Parts, maker: Address, outcome: Refused): Refusal {
  const budget = orderBudgetOf(settings, makers.limitsOf(maker));
  const retryAfterMs = outcome.kind === 'rate_limited' ? outcome.retryAfterMs : undefined;
  const remaining = 'remaining' in outcome ? outcome.remaining : 0;
  const headers = rateHeaders('orders', [{ maker, budget }], [remaining], retryAfterMs);
  const cause =
    'a cancellation of an order that nobody has placed, as far as is known now, is remembered like an order';
  const ways = 'nothing was cancelled. Cancel-all takes back all open orders';
  if (outcome.kind === 'rate_limited') {
    const detail = `${cause}, and the maker's budget of ${budget.ratePerSecond} orders per second is spent: ${ways}`;
    return { code: 'rate_limited', detail, headers };
  }
  const why =
    outcome.kind === 'over_budget'
      ? `the maker's budget holds ${budget.burst} when full`
      : `at most ${settings.REMEMBERED_HASHES_PER_MAKER_MAX} of the maker are`;
  return { code: 'too_many_orders', detail: `${cause}, and ${why}: ${ways}`, headers };
}
