import type { Alert, Window } from '../alert.js';
import { FEED_AGE_SECONDS_MAX, partitions } from '../objectives.js';

const ofPartitions = (metric: string, values: readonly string[]) =>
  Object.fromEntries(values.map((value, partition) => [`${metric}{instance="a",partition="${partition}"}`, value]));

/** The way from the log into the feed and the read model. */
export function alertsOnProjection(window: Window): Alert[] {
  return [
    {
      name: 'FeedStale',
      severity: 'page',
      expr: `max(min by (partition) (projector_feed_age_seconds)) > ${FEED_AGE_SECONDS_MAX}`,
      forSeconds: 60,
      summary: 'The feed of a partition stands still: the router must hold nothing of it',
      proof: {
        fires: ofPartitions('projector_feed_age_seconds', ['1x10', '0+60x10']),
        quiet: ofPartitions('projector_feed_age_seconds', ['1x10', '14x10']),
        atMinute: 5,
      },
    },
    {
      name: 'PartitionsUnowned',
      severity: 'page',
      expr: `sum(projector_partitions) < ${partitions}`,
      forSeconds: 60,
      summary: 'Projectors run, and a partition is projected by none',
      proof: {
        fires: {
          'projector_partitions{instance="a"}': '1x10',
          ...ofPartitions('chain_watcher_partition_wait_seconds', ['0x10', '0x10']),
        },
        quiet: {
          'projector_partitions{instance="a"}': '1x10',
          'projector_partitions{instance="b"}': '1x10',
          ...ofPartitions('chain_watcher_partition_wait_seconds', ['0x10', '0x10']),
        },
        atMinute: 4,
      },
    },
    {
      name: 'PartitionsRetaken',
      severity: 'ticket',
      // A release takes each partition once for each replica that is replaced.
      expr: `sum(increase(projector_partitions_taken_total[${window(900)}])) > 4 * ${partitions}`,
      forSeconds: 0,
      summary: 'Partitions are taken again and again: batches fail, or projectors come and go',
      proof: {
        fires: {
          'projector_partitions_taken_total{instance="a"}': '0+1x20',
          ...ofPartitions('chain_watcher_partition_wait_seconds', ['0x20']),
        },
        quiet: {
          'projector_partitions_taken_total{instance="a"}': '0 2x20',
          ...ofPartitions('chain_watcher_partition_wait_seconds', ['0x20']),
        },
        atMinute: 20,
      },
    },
    {
      name: 'ReadModelBehind',
      severity: 'page',
      // At 60 (PROJECTION_LAG_SECONDS_MAX) every POST is answered 503.
      expr: 'max(ingress_projection_lag_seconds) > 30',
      forSeconds: 15,
      summary: 'The read model is behind the log: POST is refused once it has been for a minute',
      proof: {
        fires: { 'ingress_projection_lag_seconds{instance="a"}': '0+30x10' },
        quiet: { 'ingress_projection_lag_seconds{instance="a"}': '29x10' },
        atMinute: 4,
      },
    },
    {
      name: 'MessagesParked',
      severity: 'page',
      expr: `sum(increase(projector_parked_messages_total[${window(600)}])) > 0`,
      forSeconds: 0,
      summary: 'A message of the log could not be read and was parked: an order that was acknowledged may be missing',
      proof: {
        fires: { 'projector_parked_messages_total{instance="a"}': '0 0 0 1x10' },
        quiet: { 'projector_parked_messages_total{instance="a"}': '1x20' },
        atMinute: 8,
      },
    },
    {
      name: 'MakersQuarantined',
      severity: 'page',
      expr: 'sum(projector_quarantined_makers) > 0',
      forSeconds: 0,
      summary: 'A maker cannot be folded: its orders are out of the feed, and its cancellations wait',
      proof: {
        fires: { 'projector_quarantined_makers{instance="a"}': '0 1x10' },
        quiet: { 'projector_quarantined_makers{instance="a"}': '0x10' },
        atMinute: 4,
      },
    },
  ];
}
