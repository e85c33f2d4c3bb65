import { initProducerIdV4 } from '@platformatic/kafka';
import type { Cluster } from '../cluster/cluster.js';
import { deadlineIn, retryUntil } from '../cluster/deadline.js';
import { isTransient } from '../cluster/error-codes.js';
import type { ProducerId } from './encode-batch.js';

/** Takes the id of a producer without transactions: a broker stores each of its batches once. @throws LogUnavailable */
export async function takeProducerId(cluster: Cluster, timeoutMs: number): Promise<ProducerId> {
  const deadline = deadlineIn(timeoutMs);
  const attempt = async () => (await cluster.anyBroker(deadline)).call(initProducerIdV4.api, deadline, null, timeoutMs);
  const { producerId: id, producerEpoch: epoch } = await retryUntil(deadline, attempt, isTransient);
  return { id, epoch };
}
