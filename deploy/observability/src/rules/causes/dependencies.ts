import type { Alert, Window } from '../alert.js';

const passing = 'service_check_passing';

const check = (job: string, instance: string, name: string) =>
  `${passing}{job="${job}",instance="${instance}",check="${name}"}`;

/**
 * Judged by what every replica of a service says: one that is cut off alone is not ready, and another alert.
 * @param but a service whose check of that name says more than that there is an answer
 */
function away(name: string, but?: string): Pick<Alert, 'expr' | 'forSeconds' | 'proof'> {
  const others = but === undefined ? '' : `,job!="${but}"`;
  return {
    expr: `max by (job) (${passing}{check="${name}"${others}}) == 0`,
    forSeconds: 60,
    proof: {
      fires: { [check('query', 'a', name)]: '1 0x9', [check('query', 'b', name)]: '1 0x9' },
      quiet: {
        [check('query', 'a', name)]: '0x10',
        [check('query', 'b', name)]: '1x10',
        ...(but === undefined ? {} : { [check(but, 'a', name)]: '0x10' }),
      },
      atMinute: 4,
    },
  };
}

const alertsOnStores: readonly Alert[] = [
  {
    name: 'KafkaAway',
    severity: 'page',
    ...away('kafka'),
    summary: 'Kafka does not answer a service: nothing can be placed or cancelled, the feed stands still',
  },
  {
    name: 'PostgresAway',
    severity: 'page',
    ...away('postgres', 'ingress'),
    summary: 'Postgres does not answer a service: no order can be placed, and cancelling needs the salt',
  },
  {
    name: 'PostgresUntrusted',
    severity: 'page',
    // A crash or a failover takes ingress some ten seconds.
    expr: `max(${passing}{job="ingress",check="postgres"}) == 0 and max(${passing}{job="query",check="postgres"}) == 1`,
    forSeconds: 60,
    summary: 'Postgres answers, and no ingress decides by it: no order can be placed, and cancelling may need the salt',
    proof: {
      fires: { [check('ingress', 'a', 'postgres')]: '1 0x9', [check('query', 'a', 'postgres')]: '1x10' },
      quiet: {
        [check('ingress', 'a', 'postgres')]: '0x10',
        [check('ingress', 'b', 'postgres')]: '1x10',
        [check('query', 'a', 'postgres')]: '1x10',
      },
      atMinute: 4,
    },
  },
  {
    name: 'RedisAway',
    severity: 'ticket',
    ...away('redis'),
    summary: 'Redis does not answer query: lists cost Postgres, and each process detects replays alone',
  },
];

/** What the services are connected to. */
export function alertsOnDependencies(window: Window): Alert[] {
  return [
    ...alertsOnStores,
    {
      name: 'ChainNodeAway',
      severity: 'page',
      expr: `sum(increase(chain_watcher_rpc_failures_total[${window(120)}])) > 0 and min(chain_watcher_lag_seconds) > 15`,
      forSeconds: 60,
      summary: 'No node gives blocks: orders neither change nor expire',
      proof: {
        fires: {
          'chain_watcher_rpc_failures_total{instance="a",endpoint="n"}': '0+3x10',
          'chain_watcher_lag_seconds{instance="a"}': '0+60x10',
        },
        quiet: {
          'chain_watcher_rpc_failures_total{instance="a",endpoint="n"}': '0+3x10',
          'chain_watcher_lag_seconds{instance="a"}': '2x10',
        },
        atMinute: 6,
      },
    },
    {
      name: 'NodeFails',
      severity: 'ticket',
      // One that is away is asked six times in the first half minute, then twice a minute.
      expr: `sum by (endpoint) (increase(chain_watcher_rpc_failures_total[${window(600)}])) > 10`,
      forSeconds: 0,
      summary: 'A node has been away for minutes, or fails now and then all the time',
      proof: {
        fires: { 'chain_watcher_rpc_failures_total{instance="a",endpoint="n"}': '0+2x20' },
        quiet: { 'chain_watcher_rpc_failures_total{instance="a",endpoint="n"}': '0 5x20' },
        atMinute: 15,
      },
    },
    {
      name: 'SubscriptionClosed',
      severity: 'ticket',
      // Without RPC_WS_URL there is none that could break.
      expr: 'chain_watcher_open_subscriptions == 0 and chain_watcher_subscription_breaks_total > 0',
      forSeconds: 300,
      summary: 'The subscription to new blocks is closed: they are found by polling, half a second later',
      proof: {
        fires: {
          'chain_watcher_open_subscriptions{instance="a"}': '0x20',
          'chain_watcher_subscription_breaks_total{instance="a"}': '1x20',
        },
        quiet: {
          'chain_watcher_open_subscriptions{instance="a"}': '0x20',
          'chain_watcher_subscription_breaks_total{instance="a"}': '0x20',
        },
        atMinute: 10,
      },
    },
    {
      name: 'BlockTopicGaps',
      severity: 'ticket',
      // A start asks JSON-RPC for what came before it, mostly fewer than CATCH_UP_BLOCKS_MAX blocks.
      expr: `increase(chain_watcher_topic_gap_blocks_total[${window(600)}]) > 120`,
      forSeconds: 0,
      summary: 'The Kaia node does not write its blocks to its topic: JSON-RPC gives them',
      proof: {
        fires: { 'chain_watcher_topic_gap_blocks_total{instance="a"}': '0+60x20' },
        quiet: { 'chain_watcher_topic_gap_blocks_total{instance="a"}': '0+10x20' },
        atMinute: 15,
      },
    },
  ];
}
