import { connectPostgres } from '@makerbook/postgres';
import { followOrders } from '../kit/follow-orders.js';
import { openChain } from '../kit/open-maker.js';
import { openStack, TEST_STACK_VARIABLE } from '../kit/open-stack.js';
import { receiveSpans } from '../kit/receive-spans.js';

/** The routers that the stack has registered. */
export const ROUTERS = ['swift', 'slow'] as const;

/** One stack for many tests, on the parts of the run, and the tools to look at it. */
export type WholeStack = Awaited<ReturnType<typeof openWhole>>;

/** False if something else has started the stack: then its settings and processes are not the tests' own. */
export const isOwnStack = process.env[TEST_STACK_VARIABLE] === undefined;

export async function openWhole() {
  const spans = await receiveSpans();
  const settings = {
    // Turn off the sweep. Within seconds it finds what a log of the chain should lead to at once.
    SWEEP_PAIRS_PER_SECOND: '0',
    CANCEL_WAIT_SECONDS_MAX: '20',
    ROUTERS: ROUTERS.join(','),
    WALLET_RPC_URL: 'own',
    WALLET_TIMEOUT_MS: '60000',
    OTEL_EXPORTER_OTLP_ENDPOINT: spans.endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    OTEL_TRACES_SAMPLER: 'parentbased_always_on',
    OTEL_BSP_SCHEDULE_DELAY: '200',
  };
  const stack = await openStack({ ownParts: false, settings }).catch(async (error: unknown) => {
    await spans.stop();
    throw error;
  });
  const chain = openChain(stack);
  const url = stack.addresses.databaseUrl;
  const postgres = connectPostgres({
    url,
    applicationName: 'test',
    connectTimeoutMs: 60_000,
    statementTimeoutMs: 60_000,
    onConnectionLost() {},
  });
  const feed = followOrders(stack);
  return {
    stack,
    chain,
    postgres,
    feed,
    spans,
    async stop(): Promise<void> {
      try {
        chain.stop();
        await feed.close();
        await postgres.close();
      } finally {
        await stack.stop().finally(spans.stop);
      }
    },
  };
}
