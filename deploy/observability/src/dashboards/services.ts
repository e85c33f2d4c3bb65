import { type DashboardSpec, lines, maybe, type PanelSpec, quantiles, query, rate } from './panel.js';

const requests = 'http_server_request_duration_seconds';

function health(job: string): DashboardSpec['rows'][number] {
  return {
    title: 'Health',
    panels: [
      lines('Ready', 'short', query(`service_ready{job="${job}"}`, '{{instance}}')),
      lines('Checks', 'short', query(`min by (check) (service_check_passing{job="${job}"})`, '{{check}}')),
    ],
  };
}

function http(job: string): PanelSpec[] {
  const of = `{job="${job}"}`;
  const labels = ['http_request_method', 'http_response_status_code'];
  return [
    lines(
      'Requests',
      'reqps',
      query(rate(`${requests}_count${of}`, ...labels), labels.map((l) => `{{${l}}}`).join(' ')),
    ),
    lines('Time to the answer', 's', ...quantiles(requests, ['http_request_method'], of)),
  ];
}

const ingress: DashboardSpec = {
  uid: 'makerbook-ingress',
  title: 'Makerbook: ingress',
  rows: [
    health('ingress'),
    {
      title: 'Requests',
      panels: [
        ...http('ingress'),
        lines('Refusals', 'reqps', maybe(rate('ingress_refusals_total', 'endpoint', 'code'), '{{endpoint}} {{code}}')),
        lines('Steps of a request', 's', ...quantiles('ingress_step_duration_seconds', ['step'])),
      ],
    },
    {
      title: 'Work',
      panels: [
        lines(
          'Orders',
          'short',
          query(rate('ingress_orders_accepted_total'), 'accepted, per s'),
          query(rate('ingress_orders_cancelled_total'), 'cancelled, per s'),
        ),
        lines('Quotes patched', 'reqps', maybe(rate('ingress_quotes_patched_total'), 'per s')),
        lines('Read model behind the log', 's', query('ingress_projection_lag_seconds', '{{instance}}')),
        lines('No orders are taken', 'short', query('ingress_cancel_only_modes', '{{instance}}')),
      ],
    },
  ],
};

const queryService: DashboardSpec = {
  uid: 'makerbook-query',
  title: 'Makerbook: query',
  rows: [
    health('query'),
    {
      title: 'Lists',
      panels: [
        ...http('query'),
        lines('Lists', 'reqps', query(rate('query_lists_total', 'source', 'age'), '{{source}} {{age}}')),
        lines('Lists offered to Redis', 'reqps', maybe(rate('query_cache_fills_total', 'outcome'), '{{outcome}}')),
        lines('Replays checked by one process alone', 'reqps', maybe(rate('query_replay_checks_local_total'), 'per s')),
        lines('Makers on the whitelist', 'short', query('query_makers_admitted', '{{instance}}')),
      ],
    },
  ],
};

const projector: DashboardSpec = {
  uid: 'makerbook-projector',
  title: 'Makerbook: projector',
  rows: [
    health('projector'),
    {
      title: 'The feed',
      panels: [
        lines('Age of the feed', 's', query('max by (instance) (projector_feed_age_seconds)', '{{instance}}')),
        lines('From a fact to the feed', 's', ...quantiles('projector_feed_delay_seconds', ['type'])),
        lines('Publishing a batch', 's', ...quantiles('projector_publish_duration_seconds')),
        lines('Messages', 'short', query(rate('projector_feed_messages_total'), 'per s')),
      ],
    },
    {
      title: 'The read model',
      panels: [
        lines('Behind the log', 's', query('max(projector_lag_seconds)', 'of the worst partition')),
        lines('Messages behind the log', 'short', query('sum(projector_lag_messages)', 'all partitions')),
        lines('Committing rows', 's', ...quantiles('projector_commit_duration_seconds')),
        lines('Facts of a commit', 'short', ...quantiles('projector_commit_facts')),
        lines('Facts', 'short', query(rate('projector_facts_total', 'type'), '{{type}}, per s')),
        lines('Transitions', 'short', query(rate('projector_transitions_total', 'kind'), '{{kind}}, per s')),
      ],
    },
    {
      title: 'Partitions, and what went wrong',
      panels: [
        lines('Partitions owned', 'short', query('projector_partitions', '{{instance}}')),
        lines('Partitions taken', 'short', query(rate('projector_partitions_taken_total'), 'per s')),
        lines('Makers and orders in memory', 'short', query('projector_held_orders', '{{instance}}')),
        lines('Quarantined makers', 'short', query('sum(projector_quarantined_makers)', 'makers')),
        lines('Parked messages', 'short', query('sum(projector_parked_messages_total)', 'since the start')),
        lines('Pruned rows', 'short', query(rate('projector_pruned_rows_total'), 'per s')),
      ],
    },
  ],
};

const each = (what: string) => query(`chain_watcher_${what}`, '{{instance}}');

const chainWatcher: DashboardSpec = {
  uid: 'makerbook-chain-watcher',
  title: 'Makerbook: chain-watcher',
  rows: [
    health('chain-watcher'),
    {
      title: 'Blocks',
      panels: [
        lines('Age of the newest block in the log', 's', each('lag_seconds')),
        lines('Blocks behind the head', 'short', each('lag_blocks')),
        lines(
          'Block numbers',
          'short',
          query('max(chain_watcher_head_block_number)', 'head'),
          query('max(chain_watcher_processed_block_number)', 'in the log'),
        ),
        lines('From seeing a block to its acknowledgement', 's', ...quantiles('chain_watcher_block_duration_seconds')),
        lines(
          'Blocks and facts',
          'short',
          query(rate('chain_watcher_blocks_total'), 'blocks, per s'),
          query(rate('chain_watcher_block_facts_total'), 'facts, per s'),
        ),
        lines('Since the block loop went on', 's', each('loop_age_seconds')),
        lines(
          'Partitions that lack the newest block',
          's',
          query('max by (partition) (chain_watcher_partition_wait_seconds)', '{{partition}}'),
        ),
        lines('Catching up', 'percentunit', each('catch_up_ratio')),
      ],
    },
    {
      title: 'Who publishes',
      panels: [
        lines('Holder', 'short', each('holders')),
        lines('Take-overs', 'short', each('takeovers_total')),
        lines('Halts', 'short', each('halts_total')),
        lines(
          'Records of the log',
          'short',
          query(rate('chain_watcher_log_records_total'), 'read, per s'),
          query(rate('chain_watcher_log_unreadable_records_total'), 'unreadable, per s'),
        ),
      ],
    },
    {
      title: 'Orders',
      panels: [
        lines(
          'Watched',
          'short',
          query('max(chain_watcher_watched_orders)', 'orders'),
          query('max(chain_watcher_watched_pairs)', 'pairs'),
          query('max(chain_watcher_watched_makers)', 'makers'),
        ),
        lines('New orders that wait to be read', 'short', query('max(chain_watcher_unread_orders)', 'orders')),
        lines('The oldest of them waits for', 's', query('max(chain_watcher_unread_order_age_seconds)', 'age')),
        lines(
          'Values of tokens that cannot be read',
          'short',
          query(rate('chain_watcher_unreadable_values_total', 'what'), '{{what}}, per s'),
          query('max(chain_watcher_suspect_values)', 'suspects'),
        ),
        lines(
          'The sweep',
          's',
          query('max(chain_watcher_sweep_age_seconds)', 'since it ended'),
          query('max(chain_watcher_sweep_duration_seconds)', 'took'),
        ),
        lines(
          'What the sweep reads and finds',
          'short',
          query(rate('chain_watcher_sweep_pairs_total'), 'pairs, per s'),
          query(rate('chain_watcher_sweep_facts_total'), 'changes, per s'),
        ),
      ],
    },
    {
      title: 'Nodes',
      panels: [
        lines(
          'JSON-RPC',
          'reqps',
          query(rate('chain_watcher_rpc_calls_total'), 'calls'),
          query(rate('chain_watcher_rpc_requests_total'), 'requests'),
        ),
        lines(
          'Failures',
          'reqps',
          maybe(rate('chain_watcher_rpc_failures_total', 'endpoint'), '{{endpoint}}'),
          query(rate('chain_watcher_rpc_refusals_total'), 'refused'),
          query(rate('chain_watcher_rpc_failovers_total'), 'passed on'),
        ),
        lines(
          'Subscription to new blocks',
          'short',
          query('max(chain_watcher_open_subscriptions)', 'open'),
          query('sum(chain_watcher_subscription_breaks_total)', 'breaks'),
        ),
        lines(
          'Blocks that the topic of the Kaia node lacked',
          'short',
          query(rate('chain_watcher_topic_gap_blocks_total'), 'per s'),
        ),
      ],
    },
  ],
};

export const serviceDashboards: readonly DashboardSpec[] = [ingress, queryService, projector, chainWatcher];
