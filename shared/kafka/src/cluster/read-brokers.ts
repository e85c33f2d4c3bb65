import { describeLogDirsV4 } from '@platformatic/kafka';
import type { ConnectOptions } from '../log.js';
import type { Address } from './broker.js';
import { Cluster } from './cluster.js';
import { deadlineIn } from './deadline.js';
import { KafkaRefused } from './error-codes.js';

const TIMEOUT_MS = 5_000;

/** A broker, and the disks that it keeps logs on. */
export interface BrokerState {
  readonly address: Address;
  /** Sizes in bytes; -1 where the broker cannot tell. A string: why it tells nothing. */
  readonly disks: readonly { readonly folder: string; readonly usable: bigint; readonly total: bigint }[] | string;
}

/** Asks each broker of the cluster for its disks. Throws LogUnavailable where no broker answers in five seconds. */
export async function readBrokers(options: ConnectOptions): Promise<readonly BrokerState[]> {
  const cluster = new Cluster(options);
  try {
    const { brokers } = await cluster.metadata([], deadlineIn(TIMEOUT_MS));
    const read = brokers.map(async ({ nodeId, host, port }): Promise<BrokerState> => {
      const asked = cluster.broker(nodeId).call(describeLogDirsV4.api, deadlineIn(TIMEOUT_MS), []);
      const disks = await asked.then(
        ({ results }) =>
          results.map(({ logDir, usableBytes, totalBytes }) => ({
            folder: logDir,
            usable: usableBytes,
            total: totalBytes,
          })),
        (error: Error) => (error instanceof KafkaRefused ? error.reason : error.message),
      );
      return { address: { host, port }, disks };
    });
    return await Promise.all(read);
  } finally {
    cluster.close();
  }
}
