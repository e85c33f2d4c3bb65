import type { Log, Logger, StoredRecord } from '@makerbook/kafka';
import { SegmentJoiner } from './join-segments.js';
import { parseBlockgroup } from './parse-blockgroup.js';
import type { PendingBlocks } from './pending-blocks.js';

export interface BlockgroupOptions {
  /** The Kafka that the Kaia node writes to. The topic is followed until this log is closed. */
  readonly log: Log;
  readonly topic: string;
  readonly logger: Logger;
  readonly pending: PendingBlocks;
}

/**
 * Reads blocks from the Kafka topic of a Kaia node's chaindatafetcher. Starts at the topic's end, because it may hold
 * days of blocks. Delivery is at least once and unordered, with repeats and gaps.
 */
export function followBlockgroups({ log, topic, logger, pending }: BlockgroupOptions): void {
  const joiner = new SegmentJoiner();
  const read = (partition: number, { key, value, headers, offset }: StoredRecord) => {
    if (pending.isPast(Number(key))) return;
    const message = joiner.add({ partition, key, value, headers });
    const block = Buffer.isBuffer(message) ? parseBlockgroup(message) : message;
    if (block !== undefined && 'unreadable' in block) {
      logger.warn({ topic, partition, offset: String(offset), reason: block.unreadable }, 'unreadable block');
    } else if (block !== undefined) pending.add(block);
  };
  log.followTopic({
    topic,
    from: 'end',
    headerEncoding: 'latin1',
    onRecords: (partition, records) => {
      for (const record of records) read(partition, record);
    },
    onFatal: (error) =>
      logger.error({ error, topic }, 'the topic of the Kaia node cannot be read: JSON-RPC gives all blocks'),
  });
}
