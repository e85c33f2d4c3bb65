import { createInstruments } from '@makerbook/telemetry';
import type { Makers } from '@makerbook/whitelist';
import type { ListOrdersParts } from './list-orders.js';
import type { OrderStreams } from './stream-orders.js';

/** The service's own metrics; those of HTTP are in `@makerbook/http`. */
export function createMetrics(
  makers: Pick<Makers, 'admittedCount'>,
  streams: Pick<OrderStreams, 'count'>,
): Pick<ListOrdersParts, 'listed' | 'checkedLocally'> {
  const { counter, gauge } = createInstruments('query');
  const lists = counter('lists_total', 'Lists served, by source and age: current, behind or unknown');
  const localChecks = counter('replay_checks_local_total', 'Requests checked for a replay without Redis');
  gauge('makers_admitted', 'Makers on the whitelist, as known here', () => makers.admittedCount());
  gauge('streams_open', 'Streams of makers that are open here', () => streams.count());
  return {
    listed: ({ source, lag }) =>
      lists.add(1, { source, age: lag === undefined ? 'unknown' : lag === 0 ? 'current' : 'behind' }),
    checkedLocally: () => localChecks.add(1),
  };
}
