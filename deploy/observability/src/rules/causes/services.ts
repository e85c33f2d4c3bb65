import type { Alert, Window } from '../alert.js';

/** By the label `job` of a scrape. */
export const services = ['ingress', 'query', 'projector', 'chain-watcher'] as const;

const lost: Readonly<Record<(typeof services)[number], { name: string; summary: string }>> = {
  ingress: { name: 'IngressDown', summary: 'No ingress runs: no order can be placed or cancelled, no quote patched' },
  query: { name: 'QueryDown', summary: 'No query runs: no maker can list orders' },
  projector: {
    name: 'ProjectorDown',
    summary: 'No projector runs: the feed stands still, and soon no order can be placed',
  },
  'chain-watcher': { name: 'ChainWatcherDown', summary: 'No chain-watcher runs: orders neither change nor expire' },
};

const ours = `job=~"${services.join('|')}"`;

/** Processes, and what they answer. */
export function alertsOnServices(window: Window): Alert[] {
  return [
    ...services.map(
      (job): Alert => ({
        name: lost[job].name,
        severity: 'page',
        expr: `(sum(up{job="${job}"}) or vector(0)) == 0`,
        forSeconds: 60,
        summary: lost[job].summary,
        proof: {
          fires: { [`up{job="${job}",instance="a"}`]: '1 0x9' },
          quiet: { [`up{job="${job}",instance="a"}`]: '0x10', [`up{job="${job}",instance="b"}`]: '1x10' },
          atMinute: 4,
        },
      }),
    ),
    {
      name: 'ReplicaDown',
      severity: 'ticket',
      expr: `up{${ours}} == 0`,
      forSeconds: 600,
      summary: 'A replica cannot be scraped, while others of its service run',
      proof: {
        fires: { 'up{job="query",instance="a"}': '0x20' },
        quiet: { 'up{job="query",instance="a"}': '0x5 1x15', 'up{job="other",instance="a"}': '0x20' },
        atMinute: 15,
      },
    },
    {
      name: 'NotReady',
      severity: 'ticket',
      expr: 'service_ready == 0',
      forSeconds: 300,
      summary: 'A replica runs and is not ready',
      proof: {
        fires: { 'service_ready{job="query",instance="a"}': '0x20' },
        quiet: { 'service_ready{job="query",instance="a"}': '0 0 1x20' },
        atMinute: 10,
      },
    },
    {
      name: 'InternalErrors',
      severity: 'ticket',
      // A counter that appears with 1 has not increased: the second half sees the first error.
      expr: `(sum by (job) (increase(${internal}[${window(600)}])) > 0) or (sum by (job) (${internal}) > 0 unless sum by (job) (${internal} offset ${window(600)}))`,
      forSeconds: 0,
      summary: 'A request was answered 500: a bug, with its stack in the log',
      proof: {
        fires: {
          'http_server_request_duration_seconds_count{job="ingress",http_response_status_code="500"}': '_x18 1x2',
        },
        quiet: {
          'http_server_request_duration_seconds_count{job="ingress",http_response_status_code="500"}': '3x20',
          'http_server_request_duration_seconds_count{job="ingress",http_response_status_code="503"}': '0+9x20',
        },
        atMinute: 20,
      },
    },
    {
      name: 'ListsBehind',
      severity: 'ticket',
      expr: `sum(rate(query_lists_total{age!="current"}[${window(300)}])) / sum(rate(query_lists_total[${window(300)}])) > 0.05`,
      forSeconds: 300,
      summary: 'More than one list in twenty does not show every write that was answered before',
      proof: {
        fires: { 'query_lists_total{age="behind"}': '0+10x20', 'query_lists_total{age="current"}': '0+90x20' },
        quiet: { 'query_lists_total{age="behind"}': '0+1x20', 'query_lists_total{age="current"}': '0+99x20' },
        atMinute: 15,
      },
    },
    {
      name: 'VolumeFillsUp',
      severity: 'ticket',
      expr: '(kubelet_volume_stats_available_bytes / kubelet_volume_stats_capacity_bytes < 0.2) or (predict_linear(kubelet_volume_stats_available_bytes[6h], 4 * 86400) < 0)',
      forSeconds: 1_800,
      summary: 'A volume has less than a fifth left, or is full within four days',
      proof: {
        fires: {
          'kubelet_volume_stats_available_bytes{persistentvolumeclaim="a"}': '19x60',
          'kubelet_volume_stats_capacity_bytes{persistentvolumeclaim="a"}': '100x60',
        },
        quiet: {
          'kubelet_volume_stats_available_bytes{persistentvolumeclaim="a"}': '21x60',
          'kubelet_volume_stats_capacity_bytes{persistentvolumeclaim="a"}': '100x60',
        },
        atMinute: 50,
      },
    },
  ];
}

const internal = 'http_server_request_duration_seconds_count{http_response_status_code="500"}';
