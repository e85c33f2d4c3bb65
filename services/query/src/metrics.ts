import { metrics } from '@makerbook/telemetry';
import type { Makers } from '@makerbook/whitelist';
import type { ListFinderParts } from './find-lists.js';
import type { ListOrdersParts } from './list-orders.js';

/** The service's own metrics; those of HTTP are in `@makerbook/http`. */
export function createMetrics(
  makers: Pick<Makers, 'admittedCount'>,
): Pick<ListOrdersParts, 'listed' | 'checkedLocally'> & Pick<ListFinderParts, 'filled'> {
  const meter = metrics.getMeter('query');
  const lists = meter.createCounter('query_lists_total', {
    description: 'Lists served, by source and by whether they were current, behind, or of unknown age',
  });
  const fills = meter.createCounter('query_cache_fills_total', {
    description: 'Lists offered to Redis, by what became of them',
  });
  const localChecks = meter.createCounter('query_replay_checks_local_total', {
    description: 'Requests checked for a replay against this instance alone, because there was no Redis to ask',
  });
  meter
    .createObservableGauge('query_makers_admitted', { description: 'Makers on the whitelist, as known here' })
    .addCallback((result) => result.observe(makers.admittedCount()));
  return {
    listed: ({ source, lag }) =>
      lists.add(1, { source, age: lag === undefined ? 'unknown' : lag === 0 ? 'current' : 'behind' }),
    checkedLocally: () => localChecks.add(1),
    filled: (outcome) => fills.add(1, { outcome }),
  };
}
