import type { Alert, Window } from '../alert.js';

/** The way of a block from the chain into the log. Bounds follow from the defaults of the chain-watcher's settings. */
export function alertsOnChain(window: Window): Alert[] {
  return [...alertsOnHolder(window), ...alertsOnBlocks(), ...alertsOnOrders(window)];
}

function alertsOnHolder(window: Window): Alert[] {
  return [
    {
      name: 'WatcherHalted',
      severity: 'page',
      expr: `max(max_over_time(chain_watcher_halts_total[${window(300)}])) > 0`,
      forSeconds: 0,
      summary: 'The chain-watcher has halted: the chain is not the one of the log. No restart helps',
      proof: {
        fires: { 'chain_watcher_halts_total{instance="a"}': '0 0 1 _x10' },
        quiet: { 'chain_watcher_halts_total{instance="a"}': '0x10' },
        atMinute: 5,
      },
    },
    {
      name: 'NotOneHolder',
      severity: 'page',
      expr: 'sum(chain_watcher_holders) != 1',
      forSeconds: 60,
      summary: 'No chain-watcher publishes, or two believe that they do',
      proof: {
        fires: { 'chain_watcher_holders{instance="a"}': '0x10', 'chain_watcher_holders{instance="b"}': '0x10' },
        quiet: { 'chain_watcher_holders{instance="a"}': '0x10', 'chain_watcher_holders{instance="b"}': '1x10' },
        atMinute: 4,
      },
    },
  ];
}

function alertsOnBlocks(): Alert[] {
  return [
    {
      name: 'ChainStale',
      severity: 'page',
      // READY_LAG_SECONDS_MAX. The only one that sees nodes which answer and all stand still.
      expr: 'min(chain_watcher_lag_seconds) > 15',
      forSeconds: 60,
      summary: 'No block has come into the log for 15 s: orders neither change nor expire',
      proof: {
        fires: { 'chain_watcher_lag_seconds{instance="a"}': '0+60x10' },
        quiet: {
          'chain_watcher_lag_seconds{instance="a"}': '14x10',
          'chain_watcher_lag_seconds{instance="b"}': '99x10',
        },
        atMinute: 5,
      },
    },
    {
      name: 'BlocksBehind',
      severity: 'ticket',
      expr: 'min(chain_watcher_lag_blocks) > 10',
      forSeconds: 60,
      summary: 'Nodes have blocks that do not get into the log',
      proof: {
        fires: { 'chain_watcher_lag_blocks{instance="a"}': '11x10' },
        quiet: { 'chain_watcher_lag_blocks{instance="a"}': '10x10' },
        atMinute: 4,
      },
    },
    {
      name: 'BlocksFarBehind',
      severity: 'page',
      // STATE_BLOCKS_MAX: from here on values are read at the head.
      expr: 'min(chain_watcher_lag_blocks) > 100',
      forSeconds: 0,
      summary: 'The log is a hundred blocks behind the chain',
      proof: {
        fires: { 'chain_watcher_lag_blocks{instance="a"}': '0+50x10' },
        quiet: { 'chain_watcher_lag_blocks{instance="a"}': '100x10' },
        atMinute: 4,
      },
    },
    {
      name: 'BlockLoopStuck',
      severity: 'page',
      // The slowest honest turn: RPC_TIMEOUT_MS for each node, a pause of 5 s, another writer's transaction of 20 s.
      expr: 'max(chain_watcher_loop_age_seconds) > 60',
      forSeconds: 0,
      summary: 'The block loop of the chain-watcher has not gone on for a minute',
      proof: {
        fires: { 'chain_watcher_loop_age_seconds{instance="a"}': '0+40x10' },
        quiet: { 'chain_watcher_loop_age_seconds{instance="a"}': '59x10' },
        atMinute: 4,
      },
    },
    {
      name: 'PartitionWaits',
      severity: 'page',
      // Transactions of ingress end within 20 s.
      expr: 'min by (partition) (chain_watcher_partition_wait_seconds) > 30',
      forSeconds: 0,
      summary: 'A partition of the log has lacked the newest block for half a minute; the others go on',
      proof: {
        fires: { 'chain_watcher_partition_wait_seconds{instance="a",partition="7"}': '0+20x10' },
        quiet: { 'chain_watcher_partition_wait_seconds{instance="a",partition="7"}': '0 20 0x10' },
        atMinute: 4,
      },
    },
  ];
}

function alertsOnOrders(window: Window): Alert[] {
  return [
    {
      name: 'OrdersUnread',
      severity: 'page',
      expr: 'max(chain_watcher_unread_order_age_seconds) > 10',
      forSeconds: 60,
      summary: 'New orders stay VALIDATING: they are not read from the chain',
      proof: {
        fires: { 'chain_watcher_unread_order_age_seconds{instance="a"}': '0+30x10' },
        quiet: { 'chain_watcher_unread_order_age_seconds{instance="a"}': '0 30 0x10' },
        atMinute: 4,
      },
    },
    {
      name: 'SweepLate',
      severity: 'ticket',
      // Twice the length of a sweep; 20 is SWEEP_PAIRS_PER_SECOND. Without a sweep its age is 0.
      expr: 'chain_watcher_sweep_age_seconds > 60 + 2 * chain_watcher_watched_pairs / 20',
      forSeconds: 300,
      summary: 'The sweep over all pairs is late: a balance that changes silently is seen late',
      proof: {
        fires: {
          'chain_watcher_sweep_age_seconds{instance="a"}': '0+60x20',
          'chain_watcher_watched_pairs{instance="a"}': '100x20',
        },
        quiet: {
          'chain_watcher_sweep_age_seconds{instance="a"}': '900x20',
          'chain_watcher_watched_pairs{instance="a"}': '10000x20',
        },
        atMinute: 15,
      },
    },
    {
      name: 'LogRecordsUnreadable',
      severity: 'ticket',
      expr: `max(increase(chain_watcher_log_unreadable_records_total[${window(300)}])) > 0`,
      forSeconds: 0,
      summary: 'The chain-watcher cannot read a record of the log',
      proof: {
        fires: { 'chain_watcher_log_unreadable_records_total{instance="a"}': '0 0 0 1x10' },
        quiet: { 'chain_watcher_log_unreadable_records_total{instance="a"}': '1x20' },
        atMinute: 5,
      },
    },
  ];
}
