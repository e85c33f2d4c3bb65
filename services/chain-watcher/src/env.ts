import {
  address,
  hidden,
  integer,
  kafkaSettings,
  list,
  opsSettings,
  postgresSettings,
  type SettingsOf,
  secret,
  signingSettings,
  telemetrySettings,
  text,
} from '@makerbook/settings';

/** Every setting of the chain-watcher; README.md holds them as a table. */
export const watcherSettings = {
  ...kafkaSettings,
  ...postgresSettings,
  ...opsSettings,
  RPC_URL: hidden(list('JSON-RPC of Kaia nodes, comma-separated, preferred one first')),
  RPC_WS_URL: secret('WebSocket of a node that announces new blocks; empty: polling only', ''),
  CHAIN_ID: integer('Chain id that the nodes must have', 8217, { min: 1 }),
  LIMIT_ORDER_PROTOCOL_ADDRESS: signingSettings.LIMIT_ORDER_PROTOCOL_ADDRESS,
  MULTICALL_ADDRESS: address('Multicall3', '0xca11bde05977b3631167028862be2a173976ca11'),
  KAIA_TOPIC: text(
    'Topic of a Kaia node’s chaindatafetcher to take blocks from, `{env}.klaytn.chaindatafetcher.{resource}.blockgroup.v1`; empty: JSON-RPC',
    '',
  ),
  KAIA_KAFKA_BROKERS: list('Brokers of `KAIA_TOPIC`, with the same TLS and SASL settings; empty: `KAFKA_BROKERS`', ''),
  KAIA_GAP_MS_MAX: integer(
    'How long the topic may lack a block once it has a later one, before JSON-RPC is asked',
    300,
  ),
  KAIA_SILENCE_MS_MAX: integer('How long the topic may give no block at all', 3000),
  POLL_INTERVAL_MS: integer('How often the nodes are asked for the next block', 500, { min: 10 }),
  NODE_SILENCE_MS_MAX: integer('A node without a new block for this long is passed over if another is ahead', 3000, {
    min: 100,
  }),
  RPC_TIMEOUT_MS: integer('Time limit for a node to answer', 5000, { min: 100 }),
  MULTICALL_CALLS_MAX: integer('Values read with one `eth_call`', 200, { min: 1, max: 1000 }),
  SUSPECT_CALLS_MAX: integer('Failing token calls that one reading tries again; the others are put off', 8, {
    min: 1,
    max: 40,
  }),
  TAKEOVER_MS: integer('A standby takes over when the log has had no new block for this long', 2000, { min: 100 }),
  ORDER_GATHER_MS: integer('How long new orders wait, to be read together', 5),
  CATCH_UP_BLOCKS_MAX: integer('A longer gap is caught up by reading all pairs at the head, if that is cheaper', 120),
  STATE_BLOCKS_MAX: integer(
    'Blocks further behind are read at the head: nodes forget older state (Kaia keeps 128 blocks)',
    100,
  ),
  SWEEP_PAIRS_PER_SECOND: integer('Pairs that the sweep reads in a second; 0: no sweep', 20, {
    max: 10_000,
  }),
  BLOCK_AHEAD_SECONDS_MAX: integer('A block further than this ahead of the machine’s clock halts the watcher', 60, {
    min: 1,
  }),
  READY_LAG_SECONDS_MAX: integer(
    'Not ready while the newest published block is older; 0: no limit, for a chain that makes blocks on demand',
    15,
  ),
  LIVE_SILENCE_MS_MAX: integer('Not alive when the block loop is stuck for this long while Kafka answers', 300_000, {
    min: 1000,
  }),
  HALT_LINGER_MS: integer('How long a halted process keeps running, so that at least two scrapes see it', 45_000, {
    max: 600_000,
  }),
  KAFKA_TIMEOUT_MS: integer('An append to the log is tried again after this time', 5000, { min: 100 }),
  ...telemetrySettings,
};

export type WatcherSettings = SettingsOf<typeof watcherSettings>;
