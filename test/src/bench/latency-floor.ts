import { createNode } from '@makerbook/chain';
import { connectLog } from '@makerbook/kafka';
import { connectPostgres } from '@makerbook/postgres';
import { silentLogger } from '@makerbook/telemetry';
import type { Bench } from './open-bench.js';

/** The least that an order or a cancellation needs, with the clients and parts of the services. */
export interface LatencyFloor {
  /** One Postgres round trip, a hop through the log, one `eth_call`, and two more hops, in milliseconds. */
  post(): Promise<number>;
  /** Two hops, in milliseconds. */
  cancel(): Promise<number>;
  stop(): Promise<void>;
}

const TOPIC = 'bench.latency-floor';

/** A hop lasts from the append of a record to a topic of one partition until a follower reads the record. */
export async function openLatencyFloor({ stack, token }: Bench): Promise<LatencyFloor> {
  const { kafkaBrokers, databaseUrl, rpcUrl } = stack.addresses;
  const log = connectLog({ brokers: kafkaBrokers.split(','), clientId: 'bench-floor', logger: silentLogger });
  await log.createTopics([{ name: TOPIC, partitions: 1, config: {} }]);
  const appender = log.createAppender({ lingerMs: 0 });
  let onRead: () => void = () => undefined;
  const following = log.followTopic({ topic: TOPIC, from: 'end', onRecords: () => onRead() });
  await following.caughtUp;
  const hop = async () => {
    const isRead = new Promise<void>((resolve) => {
      onRead = resolve;
    });
    const record = { topic: TOPIC, partition: 0, key: 'hop', value: Buffer.alloc(600), headers: {} };
    await Promise.all([appender.append([record]), isRead]);
  };

  const postgres = connectPostgres({ url: databaseUrl, applicationName: 'bench-floor' });
  const ask = () => postgres.query('select 1');

  const node = createNode({ urls: [rpcUrl], monotonicMs: () => performance.now() });
  // `balanceOf` of the zero address.
  const call = () => node.call('eth_call', [{ to: token, data: `0x70a08231${'0'.repeat(64)}` }, 'latest']);

  return {
    post: () => timeOf([ask, hop, call, hop, hop]),
    cancel: () => timeOf([hop, hop]),
    async stop() {
      node.close();
      await Promise.all([log.close(), postgres.close()]);
    },
  };
}

async function timeOf(works: readonly (() => Promise<unknown>)[]): Promise<number> {
  const startedAt = performance.now();
  for (const work of works) await work();
  return performance.now() - startedAt;
}
