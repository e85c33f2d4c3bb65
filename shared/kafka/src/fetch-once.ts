import { splitFetched } from './decode-fetched.js';
import type { KafkaNode } from './reach-brokers.js';
import { apiKeys, requests } from './speak-kafka.js';
import type { Deadline } from './wait.js';

const FETCH_VERSION = 11;
const READ_COMMITTED = 1;
const PARTITION_BYTES_MAX = 1024 * 1024;
const RESPONSE_BYTES_MAX = 10 * 1024 * 1024;

/**
 * One fetch of what is committed, from one broker; undecoded, for what it costs.
 * @param waitMs how long the broker may wait where there is nothing new
 */
export function fetchOnce(
  node: KafkaNode,
  topic: string,
  partitions: readonly { readonly partition: number; readonly from: bigint }[],
  waitMs: number,
  deadline: Deadline,
): Promise<ReturnType<typeof splitFetched>> {
  const fetch = requests.Fetch.protocol({ version: FETCH_VERSION })({
    isolationLevel: READ_COMMITTED,
    maxWaitTime: waitMs,
    minBytes: 1,
    maxBytes: RESPONSE_BYTES_MAX,
    topics: [
      {
        topic,
        partitions: partitions.map(({ partition, from }) => ({
          partition,
          fetchOffset: from.toString(),
          maxBytes: PARTITION_BYTES_MAX,
        })),
      },
    ],
    rackId: '',
  });
  return node.send(
    () => ({
      request: { ...fetch.request, apiKey: apiKeys.Fetch },
      response: { decode: async (payload) => splitFetched(payload), parse: async (data) => data },
    }),
    deadline,
  );
}
