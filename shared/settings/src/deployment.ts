import { type Hex, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import {
  address,
  addresses,
  choice,
  credential,
  entries,
  hidden,
  integer,
  list,
  origins,
  port,
  type Setting,
  type SettingsOf,
  secret,
  serverUrl,
  serverUrls,
  text,
} from './settings.js';

type TlsSettings<P extends string> = Record<`${P}_TLS`, Setting<'off' | 'on'>> &
  Record<`${P}_TLS_${'CA' | 'CERT' | 'KEY'}_FILE`, Setting<string>>;

/** TLS to one server, the same for each. See `readTls`. */
function tlsSettings<P extends string>(prefix: P, server: string): TlsSettings<P> {
  return {
    [`${prefix}_TLS`]: choice(
      `\`on\`: TLS to ${server}, with its certificate and host name verified`,
      ['off', 'on'],
      'off',
    ),
    [`${prefix}_TLS_CA_FILE`]: text("PEM file of the server's authorities; empty: those of the machine", ''),
    [`${prefix}_TLS_CERT_FILE`]: text('PEM file of the client certificate; empty: none', ''),
    [`${prefix}_TLS_KEY_FILE`]: text('PEM file of its key', ''),
  } as TlsSettings<P>;
}

/** Settings that several services share. Each service takes the groups it needs into its own spec. */
export const kafkaSettings = {
  KAFKA_BROKERS: list('Kafka bootstrap brokers, `host:port`, comma-separated'),
  ...tlsSettings('KAFKA', 'Kafka'),
  KAFKA_SASL_MECHANISM: choice(
    '`none`, `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512` or `OAUTHBEARER`',
    ['none', 'PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER'],
    'none',
  ),
  KAFKA_SASL_USERNAME: text('User of `PLAIN` and `SCRAM`', ''),
  KAFKA_SASL_PASSWORD: credential('Password of `PLAIN` and `SCRAM`', ''),
  KAFKA_SASL_TOKEN: credential('Token of `OAUTHBEARER`', ''),
  PARTITIONS: integer('Partitions of every topic. Never change it: a maker must not move', 12, { min: 1, max: 1024 }),
  TOPIC_PREFIX: text(
    'Prefix of every topic and group, and of the transactional ids of chain-watcher and projector',
    '',
  ),
};

export const postgresSettings = {
  DATABASE_URL: secret(
    '`postgres://user:password@host:port/database`',
    undefined,
    serverUrl(['postgres:', 'postgresql:'], 'DATABASE_TLS'),
  ),
  DATABASE_PASSWORD: credential('Password, instead of one in the URL', ''),
  ...tlsSettings('DATABASE', 'Postgres'),
};

export const redisSettings = {
  REDIS_URL: secret(
    '`redis://user:password@host:port/0`; nodes of a cluster, or Sentinels, comma-separated; empty: no Redis',
    '',
    serverUrls(['redis:'], 'REDIS_TLS'),
  ),
  REDIS_MODE: choice(
    'What `REDIS_URL` names: `single`, `cluster` or `sentinel`',
    ['single', 'cluster', 'sentinel'],
    'single',
  ),
  REDIS_SENTINEL_MASTER: text('The name that the Sentinels give the primary', 'mymaster'),
  REDIS_SENTINEL_PASSWORD: credential('Password of the Sentinels', ''),
  REDIS_PASSWORD: credential('Password, instead of one in the URL', ''),
  ...tlsSettings('REDIS', 'Redis'),
  REDIS_KEY_PREFIX: text('Prefix of every key', 'mb:'),
};

export const signingSettings = {
  SERVICE_NAME: text('The EIP-712 domain name is `<SERVICE_NAME> Limit Order Protocol`'),
  CHAIN_ID: integer('Chain id of the EIP-712 domain', 8217, { min: 1 }),
  LIMIT_ORDER_PROTOCOL_ADDRESS: address('The LimitOrderProtocol contract, `verifyingContract` of the EIP-712 domain'),
  NAVIGATOR_ADDRESS: address(
    'The Navigator contract, `verifyingContract` of quotes. The zero address: quotes are not patched',
    ZERO_ADDRESS,
  ),
  RECEIPT_SIGNERS: addresses('Addresses of the present and former keys of receipts, comma-separated'),
};

/** The market: the contract that fills quotes of the book, and the well-known tokens. */
export const marketSettings = {
  ORDER_FILLER_ADDRESS: address(
    'The OrderFiller contract that quotes of the book are for. The zero address: none',
    ZERO_ADDRESS,
  ),
  TOKENS: entries(
    'Tokens that `/info` and the pages name: `SYMBOL:decimals:address`, comma-separated',
    /^([^:]+):(\d{1,2}):(0x[0-9a-fA-F]{40})$/,
  ),
};

/** The tokens of the setting `TOKENS`. */
export function readTokens({ TOKENS }: SettingsOf<Pick<typeof marketSettings, 'TOKENS'>>) {
  return TOKENS.map(([symbol = '', decimals, token = '']) => ({
    address: token.toLowerCase() as Hex,
    symbol,
    decimals: Number(decimals),
  }));
}

/** The values that bind signatures to this deployment. */
export function signingDomain(settings: SettingsOf<typeof signingSettings>) {
  return {
    serviceName: settings.SERVICE_NAME,
    chainId: settings.CHAIN_ID,
    verifyingContract: settings.LIMIT_ORDER_PROTOCOL_ADDRESS,
  };
}

export const apiSettings = {
  PORT: port('Port of the API', 8080),
  CONNECTIONS_PER_ADDRESS_MAX: integer('Connections of one client address at a time, without a proxy in front', 256, {
    min: 1,
  }),
  CONCURRENT_REQUESTS_MAX: integer('Requests that are handled at once; more are refused with 503', 2000, { min: 1 }),
  CLIENT_WINDOW_SECONDS: integer('Length of the window in which requests of a client address are counted', 60, {
    min: 1,
    max: 3600,
  }),
  TRUSTED_PROXY_HOPS: integer('Proxies in front whose X-Forwarded-For is trusted', 0, { max: 10 }),
  HEADER_BYTES_MAX: integer('Request line and headers together; 100 cancellations need 21 kB', 65_536, { min: 8192 }),
  REQUEST_TIMEOUT_MS: integer('A request must arrive whole within this time', 10_000, { min: 100 }),
  DRAIN_MS: integer('Time for requests under way to end when the service stops', 10_000, { min: 0, max: 15_000 }),
  CORS_ORIGINS: origins('Origins whose web pages may call the API, comma-separated, or `*` for all; empty: none'),
};

/** Settings of services that take bodies, and of the local gateway, which buffers a request until it is whole. */
export const bodySettings = {
  BODY_BYTES_MAX: integer('A larger body is refused with 413', 262_144, { min: 1024 }),
};

/**
 * The limits of the API. Ingress enforces most of them and query the rest. Query publishes all of them, so both need
 * the same values.
 */
export const limitSettings = {
  ...bodySettings,
  MAX_ORDERS_PER_POST: integer('Orders in one POST', 100, { min: 1, max: 500 }),
  MAX_OPEN_ORDERS_PER_MAKER: integer('Open orders of a maker without a limit of its own', 1000, {
    min: 1,
    max: 1_000_000,
  }),
  REMEMBERED_HASHES_PER_MAKER_MAX: integer(
    'Remembered hashes of a maker; beyond it, POST and cancellations of unknown orders are refused',
    10_000_000,
    {
      min: 1000,
    },
  ),
  MAX_CANCELS_PER_DELETE: integer('Order hashes in one DELETE or POST …/cancellations', 100, { min: 1, max: 500 }),
  CANCEL_WAIT_SECONDS_MAX: integer('The longest that `Prefer: wait` makes a cancellation wait for the feed', 5, {
    max: 20,
  }),
  ORDER_BUDGET_PER_SECOND: integer(
    'Orders per second that refill the budget of a maker without a limit of its own',
    100,
    { min: 1 },
  ),
  ORDER_BUDGET_BURST: integer('Orders in the full budget of a maker without a limit of its own', 1000, { min: 1 }),
  CANCEL_BUDGET_PER_SECOND: integer(
    "Cancellations per second that refill a maker's budget; at least twice its orders",
    500,
    { min: 1 },
  ),
  CANCEL_BUDGET_BURST: integer("Cancellations in a maker's full budget; at least twice its orders", 5000, { min: 500 }),
  LIST_BUDGET_PER_SECOND: integer("Lists per second that refill a maker's budget", 50, { min: 1 }),
  LIST_BUDGET_BURST: integer("Lists in a maker's full budget", 500, { min: 1 }),
  CLIENT_REQUESTS_MAX: integer(
    'POSTs of one client address in a window, and as many GETs; each 8 KiB of a request count as one more',
    6000,
    { min: 1 },
  ),
  CANCEL_REQUESTS_MAX: integer(
    'Cancelling requests, heartbeats, cancel-keys and fill-caps of one client address in a window, counted the same way',
    12_000,
    { min: 1 },
  ),
  PATCH_REQUESTS_MAX: integer('PATCHes of one client address in a window, counted the same way', 3000, { min: 1 }),
  REQUEST_TTL_SECONDS: integer('How old a signed GET may be', 30, { min: 1, max: 3600 }),
  CLOCK_SKEW_SECONDS: integer(
    "How far `issuedAt` of a signed GET, and `issuedAtMs`, may be ahead of the server's clock",
    5,
    {
      max: 600,
    },
  ),
};

/** How services ask contract wallets (EIP-1271) about signatures. */
export const walletSettings = {
  WALLET_RPC_URL: hidden(
    list(
      'JSON-RPC of Kaia nodes for asking contract wallets and looking up tokens of caps, comma-separated, preferred one first; empty: only keys sign',
      '',
    ),
  ),
  WALLET_TIMEOUT_MS: integer('Time limit for a node to answer for wallets', 2000, { min: 100, max: 60_000 }),
};

/** The nodes for contract wallets, as options of `openWallets` of `shared/chain`. */
export function walletConnection({
  WALLET_RPC_URL: urls,
  WALLET_TIMEOUT_MS: timeoutMs,
  CHAIN_ID: chainId,
}: SettingsOf<typeof walletSettings & Pick<typeof signingSettings, 'CHAIN_ID'>>) {
  return { urls, timeoutMs, chainId };
}

/** The router's feed, which the projector publishes and query describes. */
export const feedSettings = {
  ROUTING_GRACE_SECONDS: integer(
    "An order leaves the router's feed this long before it expires. A replay with another value gives another feed",
    60,
  ),
};

export const opsSettings = {
  HOST: text('Address to listen on. `0.0.0.0` or `::`: every interface', '127.0.0.1'),
  HOST_NAMES: list(
    'Names that requests may give as `Host`, comma-separated; empty: any. Against DNS rebinding; the port for operators takes any address too',
    '',
  ),
  OPS_PORT: port('Port of `/livez`, `/readyz` and `/metrics`', 9090),
  LOG_LEVEL: choice('Least severe log line that is written', ['debug', 'info', 'warn', 'error'], 'info'),
};

/** Variables of OpenTelemetry. Its SDK also reads those of its specification that are not here. */
export const telemetrySettings = {
  BUILD_REVISION: text('Revision of the build in `makerbook_build_info`; an image sets it', 'unknown'),
  OTEL_SERVICE_NAME: text('Name of the service in traces and metrics; empty: its own', ''),
  OTEL_RESOURCE_ATTRIBUTES: text('Attributes of the process in traces and metrics: `name=value`, comma-separated', ''),
  OTEL_EXPORTER_OTLP_ENDPOINT: text('Address of the collector for spans; empty: none', ''),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: text('The same with its path, for spans only', ''),
  OTEL_EXPORTER_OTLP_PROTOCOL: choice(
    'Protocol of the collector: `http/protobuf`, `http/json` or `grpc`',
    ['http/protobuf', 'http/json', 'grpc'],
    'http/protobuf',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: secret('Header fields for the collector: `name=value`, comma-separated', ''),
  OTEL_TRACES_EXPORTER: text('`otlp`, `zipkin`, `console` or `none`; empty: `otlp` if a collector is named', ''),
  OTEL_TRACES_SAMPLER: text(
    'Which traces are recorded; also `parentbased_always_on`, `traceidratio`',
    'parentbased_traceidratio',
  ),
  OTEL_TRACES_SAMPLER_ARG: text('Share of traces that `parentbased_traceidratio` records, from 0 to 1', '0.1'),
  OTEL_PROPAGATORS: text(
    'Headers that carry the trace of a request; also `b3`, `b3multi`, `none`',
    'tracecontext,baggage',
  ),
  OTEL_METRICS_EXPORTER: choice(
    '`otlp` sends metrics to the collector too; `OPS_PORT` always serves them',
    ['prometheus', 'otlp'],
    'prometheus',
  ),
  OTEL_METRIC_EXPORT_INTERVAL: integer('Milliseconds between two exports of metrics', 60_000, { min: 100 }),
  OTEL_SDK_DISABLED: text('`true`: no traces and no metrics', 'false'),
};
