import { createAPI, FetchIsolationLevels, fetchV12, type Reader } from '@platformatic/kafka';
import type { Broker } from '../cluster/broker.js';
import type { Deadline } from '../cluster/deadline.js';
import { assertAccepted } from '../cluster/error-codes.js';

/** The result of a fetch for one partition. */
export interface FetchedPartition {
  readonly partition: number;
  readonly errorCode: number;
  readonly highWatermark: bigint;
  readonly aborted: readonly AbortedTransaction[];
  /** Whole record batches, perhaps followed by a part of one. */
  readonly bytes: Buffer;
}

export interface AbortedTransaction {
  readonly producerId: bigint;
  readonly firstOffset: bigint;
}

const PARTITION_BYTES_MAX = 1024 * 1024;
const RESPONSE_BYTES_MAX = 10 * 1024 * 1024;
const { READ_COMMITTED } = FetchIsolationLevels;

/** Replaces the library's decoder, which fails for the whole response if one record batch cannot be decoded. */
const { key, version } = fetchV12.api;
const fetchApi = createAPI<Parameters<typeof fetchV12.createRequest>, ReturnType<typeof readResponse>>(
  key,
  version,
  fetchV12.createRequest,
  (_correlationId, _key, _version, reader) => readResponse(reader),
);

/**
 * Fetches committed records from one broker, as record batches that are not decoded yet.
 * @param waitMs how long the broker may wait if there is nothing new
 * @param partitionMaxBytes bound for each partition; a larger first batch comes whole
 */
export async function fetchOnce(
  broker: Broker,
  topic: string,
  partitions: readonly { readonly partition: number; readonly from: bigint }[],
  waitMs: number,
  deadline: Deadline,
  partitionMaxBytes = PARTITION_BYTES_MAX,
): Promise<readonly FetchedPartition[]> {
  const asked = partitions.map(({ partition, from: fetchOffset }) => {
    const epochs = { currentLeaderEpoch: -1, lastFetchedEpoch: -1 };
    return { partition, fetchOffset, partitionMaxBytes, ...epochs };
  });
  const topics = [{ topicId: topic, partitions: asked }];
  const bounds = [waitMs, 1, RESPONSE_BYTES_MAX] as const;
  const answer = await broker.call(fetchApi, deadline, ...bounds, READ_COMMITTED, 0, -1, topics, [], '');
  assertAccepted(`fetching ${topic}`, answer.errorCode);
  return answer.partitions;
}

/** Reads throttle time, error code, session id, topics; per partition offsets, aborted transactions and batches. */
function readResponse(reader: Reader) {
  const partitions: FetchedPartition[] = [];
  reader.readInt32();
  const errorCode = reader.readInt16();
  reader.readInt32();
  reader.readArray((topic) => {
    topic.readString();
    topic.readArray((fields) => {
      const partition = fields.readInt32();
      const partitionError = fields.readInt16();
      const highWatermark = fields.readInt64();
      fields.readInt64();
      fields.readInt64();
      const aborted = fields.readNullableArray(() => {
        return { producerId: fields.readInt64(), firstOffset: fields.readInt64() };
      });
      fields.readInt32();
      const bytes = fields.readBytes();
      partitions.push({ partition, errorCode: partitionError, highWatermark, aborted: aborted ?? [], bytes });
    });
  });
  return { errorCode, partitions };
}
