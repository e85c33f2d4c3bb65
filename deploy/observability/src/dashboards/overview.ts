import { objectives } from '../rules/objectives.js';
import { type DashboardSpec, lines, maybe, number, quantiles, query, RATE, rate } from './panel.js';

const requests = 'http_server_request_duration_seconds';

/** What makers and the router get, and what it depends on. */
export const overview: DashboardSpec = {
  uid: 'makerbook-overview',
  title: 'Makerbook: overview',
  rows: [
    {
      title: 'Now',
      panels: [
        number('Alerts that page', 'short', 'count(ALERTS{alertstate="firing",severity="page"}) or vector(0)', 1),
        number('Replicas that are not ready', 'short', 'count(service_ready == 0) or vector(0)', 1),
        number('Open orders', 'short', 'max(chain_watcher_watched_orders)'),
        number('Age of the oldest feed', 's', 'max(min by (partition) (projector_feed_age_seconds))', 15),
        number('Age of the newest block in the log', 's', 'min(chain_watcher_lag_seconds)', 5),
        number('Read model behind by', 's', 'max(ingress_projection_lag_seconds)', 30),
      ],
    },
    {
      title: 'Objectives',
      panels: [
        lines(
          'Error budget that is left, of 3 days',
          'percentunit',
          query('clamp_min(1 - slo:error_ratio:rate3d / on (slo) slo:error_budget:ratio, 0)', '{{slo}}'),
        ),
        lines(
          'How many times too fast it is spent, over an hour',
          'short',
          query('slo:error_ratio:rate1h / on (slo) slo:error_budget:ratio', '{{slo}}'),
        ),
        lines(
          'Share that was bad, over 5 minutes',
          'percentunit',
          ...objectives.map(({ slo }) => query(`slo:error_ratio:rate5m{slo="${slo}"}`, slo)),
        ),
      ],
    },
    {
      title: 'Makers',
      panels: [
        lines('Requests', 'reqps', query(rate(`${requests}_count`, 'http_request_method'), '{{http_request_method}}')),
        lines(
          'Answers of 5xx',
          'reqps',
          maybe(
            rate(
              `${requests}_count{http_response_status_code=~"5.."}`,
              'http_request_method',
              'http_response_status_code',
            ),
            '{{http_request_method}} {{http_response_status_code}}',
          ),
        ),
        lines('Time to the answer', 's', ...quantiles(requests, ['http_request_method'])),
        lines(
          'Orders',
          'short',
          query(rate('ingress_orders_accepted_total'), 'accepted, per s'),
          query(rate('ingress_orders_cancelled_total'), 'cancelled, per s'),
        ),
      ],
    },
    {
      title: 'Router',
      panels: [
        lines('From a fact to the feed', 's', ...quantiles('projector_feed_delay_seconds', ['type'])),
        lines('Messages on the feed', 'short', query(rate('projector_feed_messages_total'), 'per s')),
        lines('Blocks published', 'short', query(rate('chain_watcher_blocks_total'), 'per s')),
      ],
    },
    {
      title: 'Services and what they are connected to',
      panels: [
        lines('Replicas that answer a scrape', 'short', query('sum by (job) (up)', '{{job}}')),
        lines('Replicas that are ready', 'short', query('sum by (job) (service_ready)', '{{job}}')),
        lines(
          'Checks that fail',
          'short',
          maybe('count by (job, check) (service_check_passing == 0)', '{{job}} {{check}}'),
        ),
        lines(
          'Failures of nodes',
          'short',
          maybe(`sum by (endpoint) (rate(chain_watcher_rpc_failures_total[${RATE}]))`, '{{endpoint}}, per s'),
        ),
      ],
    },
  ],
};
