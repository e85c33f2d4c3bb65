import { afterEach, expect, test } from '@jest/globals';
import { pause } from '@makerbook/contracts-primitives';
import { replaceMethod, until } from '@makerbook/parts';
import { metadataV9 } from '@platformatic/kafka';
import { Broker } from '../cluster/broker.js';
import { Cluster } from '../cluster/cluster.js';
import { quiet } from '../testing/open-test-log.js';
import { Fetcher } from './fetch-partitions.js';

let restore: (() => void) | undefined;
afterEach(() => restore?.());

test('partitions with a leader are read even if another has none', async () => {
  const fetches = new Map<number, number>();
  const partitions = [1, 2, -1].map((leaderId, partitionIndex) => ({ partitionIndex, leaderId }));
  const brokers = [1, 2].map((nodeId) => ({ nodeId, host: '127.0.0.1', port: nodeId }));
  const metadata = { topics: [{ name: 'log', errorCode: 0, partitions }], brokers };
  async function answer(this: Broker, ...[api]: readonly unknown[]) {
    if (api === metadataV9.api) return metadata as never;
    await pause(5);
    fetches.set(this.address.port, (fetches.get(this.address.port) ?? 0) + 1);
    return { errorCode: 0, partitions: [] } as never;
  }
  restore = replaceMethod(Broker.prototype, 'call', () => answer);
  const fatals: Error[] = [];
  const fetcher = new Fetcher({
    cluster: new Cluster({ brokers: ['127.0.0.1:9'], clientId: 'test', logger: quiet }),
    topic: 'log',
    headerEncoding: 'utf8',
    pollMsMax: 5,
    logger: quiet,
    handle: async () => undefined,
    onOutOfRange: async (_, offset) => offset,
    onFatal: (error) => fatals.push(error),
  });
  for (const partition of partitions.keys()) fetcher.start(partition, 0n);
  await until('both brokers are asked again and again', () => [1, 2].every((port) => (fetches.get(port) ?? 0) > 20));
  await fetcher.close();
  expect(fatals).toEqual([]);
});
