import { until } from '@makerbook/parts';
import { silentLogger } from '@makerbook/telemetry';
import type { metadataV9 } from '@platformatic/kafka';
import { Cluster } from '../cluster/cluster.js';
import { deadlineIn } from '../cluster/deadline.js';

const ANSWER_MS_MAX = 60_000;
const IN_SYNC_MS_MAX = 400_000;

/** Asks brokers about their cluster. Undefined if none answers in time. */
export async function lookAt(
  brokers: readonly string[],
  topics: readonly string[],
): Promise<metadataV9.MetadataResponse | undefined> {
  const cluster = new Cluster({ brokers, clientId: 'test', logger: silentLogger });
  const answer = await cluster.metadata(topics, deadlineIn(ANSWER_MS_MAX)).catch(() => undefined);
  cluster.close();
  return answer;
}

/**
 * Waits until each replica of the topics, and of the topic of transactions, is in sync. Otherwise the next broker to
 * stop may be the only one that has everything.
 */
export function awaitInSync(brokers: readonly string[], replicas: number, topics: readonly string[]): Promise<void> {
  const hasAll = ({ partitions }: metadataV9.MetadataResponseTopic) =>
    partitions.length > 0 && partitions.every(({ isrNodes }) => isrNodes.length === replicas);
  const isSo = async () => (await lookAt(brokers, [...topics, '__transaction_state']))?.topics.every(hasAll);
  return until('all replicas are in sync', async () => (await isSo()) === true, IN_SYNC_MS_MAX);
}
