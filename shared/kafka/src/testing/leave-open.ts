import { silentLogger } from '@makerbook/telemetry';
import { addPartitionsToTxnV3, initProducerIdV4 } from '@platformatic/kafka';
import { Cluster } from '../cluster/cluster.js';
import { deadlineIn, retryUntil } from '../cluster/deadline.js';
import type { LogRecord, TopicPartition } from '../log.js';
import { bytesOf } from '../produce/encode-batch.js';
import { BatchStore } from '../produce/store-batches.js';

const TIMEOUT_MS = 60_000;
const TRANSACTION_TIMEOUT_MS = 600_000;

/**
 * For tests: stores a record, or nothing, in a transaction that nobody ends, like a writer killed in the middle of it.
 * The next holder of the id aborts it.
 */
export async function leaveTransactionOpen(
  brokers: readonly string[],
  transactionalId: string,
  record: LogRecord | TopicPartition,
): Promise<void> {
  const cluster = new Cluster({ brokers, clientId: 'leaves-open', logger: silentLogger });
  const { topic, partition } = record;
  const deadline = deadlineIn(TIMEOUT_MS);
  try {
    const { producerId, producerEpoch } = await retryUntil(deadline, async () => {
      const coordinator = await cluster.coordinatorOf('TRANSACTION', transactionalId, deadline);
      const { api } = initProducerIdV4;
      const taken = await coordinator.call(api, deadline, transactionalId, TRANSACTION_TIMEOUT_MS, -1n, -1);
      const topics = [{ name: topic, partitions: [partition] }];
      const transaction = { transactionalId, ...taken, verifyOnly: false, topics };
      await coordinator.call(addPartitionsToTxnV3.api, deadline, [transaction]);
      return taken;
    });
    if (!('key' in record)) return;
    const producer = { id: producerId, epoch: producerEpoch, sequence: 0 };
    const batch = { topic, partition, records: [record], bytes: bytesOf(record), producer };
    await new BatchStore(cluster, { transactionalId }).store(batch, deadline);
  } finally {
    cluster.close();
  }
}
