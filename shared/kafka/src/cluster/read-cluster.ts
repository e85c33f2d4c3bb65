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
  /** Sizes in bytes, -1 if the broker cannot tell. A string says why the broker tells nothing. */
  readonly disks: readonly { readonly folder: string; readonly usable: bigint; readonly total: bigint }[] | string;
}

/** A partition, how many replicas it should have, and how many of them are in sync. */
export interface PartitionState {
  readonly topic: string;
  readonly partition: number;
  readonly replicas: number;
  readonly inSync: number;
}

/**
 * Asks for the partitions of these topics, and asks each live broker for its disks. A missing topic has no partitions.
 * Throws LogUnavailable if no broker answers in five seconds.
 */
export async function readCluster(
  options: ConnectOptions,
  topics: readonly string[],
): Promise<{ readonly brokers: readonly BrokerState[]; readonly partitions: readonly PartitionState[] }> {
  const cluster = new Cluster(options);
  try {
    const answer = await cluster.metadata(topics, deadlineIn(TIMEOUT_MS));
    const read = answer.brokers.map(async ({ nodeId, host, port }): Promise<BrokerState> => {
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
    const partitions = answer.topics.flatMap(({ name, partitions: those }) =>
      those.map(({ partitionIndex: partition, replicaNodes, isrNodes }) => {
        return { topic: name ?? '', partition, replicas: replicaNodes.length, inSync: isrNodes.length };
      }),
    );
    return { brokers: await Promise.all(read), partitions };
  } finally {
    cluster.close();
  }
}
