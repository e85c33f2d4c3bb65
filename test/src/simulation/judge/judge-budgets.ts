import type { Hex } from '@makerbook/contracts-primitives';
import type { Budget } from '@makerbook/domain';
import type { Replay } from './replay-log.js';

/** Sums of times and rates are not exact. */
const SLACK = 0.001;

/**
 * Finds makers who placed more orders than their budget holds: in any period, the burst and its refill. A crash of
 * Postgres fills it once. There is one clock, so no order is accepted after the log has stored it.
 * @param crashedAtMs when Postgres was killed
 */
export function judgeBudgets(replays: readonly Replay[], budget: Budget, crashedAtMs: readonly number[]): string[] {
  const placed = new Map<Hex, { readonly maker: Hex; readonly atMs: number }>();
  const early: string[] = [];
  for (const { fact, timeMs } of replays.flatMap(({ facts }) => facts)) {
    const isAsked =
      fact.type === 'OrderSubmitted' && fact.cause.kind === 'request' && fact.cause.requestId.startsWith('visit');
    if (!isAsked || placed.has(fact.orderHash)) continue;
    if (fact.acceptedAtMs > timeMs) early.push(`${fact.orderHash} is accepted after it is stored`);
    placed.set(fact.orderHash, { maker: fact.maker, atMs: fact.acceptedAtMs });
  }
  const beyond = [...Map.groupBy(placed.values(), ({ maker }) => maker)].flatMap(([maker, orders]) => {
    const times = orders.map(({ atMs }) => atMs).sort((a, b) => a - b);
    return times.flatMap((untilMs, last) =>
      times.slice(0, last + 1).flatMap((fromMs, first) => {
        const crashes = crashedAtMs.filter((atMs) => atMs >= fromMs && atMs <= untilMs).length;
        const held = budget.burst * (1 + crashes) + ((untilMs - fromMs) * budget.ratePerSecond) / 1000;
        const count = last - first + 1;
        return count <= held + SLACK ? [] : [`${maker} has placed ${count} orders in ${untilMs - fromMs} ms`];
      }),
    );
  });
  return [...early, ...beyond];
}
