import { pause } from '@makerbook/contracts-primitives';
import type { Appender, Log, LogRecord, StoredRecord, TopicPartition, TopicSpec } from '@makerbook/kafka';
import type { Outcome } from '../outcome.js';
import type { ArchivedTopic } from './archive-log.js';
import { type ArchiveManifest, readSegment, requireManifest } from './segments.js';
import { findDifference } from './verify-archive.js';

const TIMEOUT_MS = 60_000;
/** Of one append, below what a record batch holds. */
const APPEND_BYTES = 500_000;
/** Records that are appended together lie closer in time. */
const APPEND_SPAN_MS = 86_400_000;
const RECORD_BYTES = 200;
/** Brokers take a setting over some time after it is accepted. */
const SETTLE_MS = 2_000;

/**
 * Appends an archive to an empty log, each record at its offset and with its time. Where the log had control records it
 * gets as many again, so that every position that anybody has noted stays true. One that broke off goes on where the
 * log ends, if what it has is the archive's.
 * @param spec the topic, as it is to be at the end
 * @param clientId begins the transactional ids
 * @throws ArchiveBroken, LogUnavailable; Error where something else writes to the topic
 */
export async function restoreLog(
  log: Log,
  archived: ArchivedTopic,
  spec: TopicSpec,
  clientId: string,
): Promise<Outcome> {
  const archive = requireManifest(archived.folder, archived.name, spec.partitions);
  const { 'message.timestamp.type': time = 'CreateTime', ...config } = spec.config;
  await log.createTopics([{ ...spec, config: { ...config, 'message.timestamp.type': 'CreateTime' } }]);
  const ends = await log.endOffsets(archived.topic, { timeoutMs: TIMEOUT_MS });
  // With its own time the broker would stamp all records with that of the restore.
  if (ends.some((end, partition) => end < BigInt(archive.to[partition] ?? 0))) await setTime(log, spec, 'CreateTime');
  const appender = log.createAppender({ lingerMs: 0, timeoutMs: TIMEOUT_MS, isCompressed: true });
  const parts = ends.map((end, partition) => {
    return new PartitionRestore(
      { log, appender, archive, folder: archived.folder, clientId },
      { topic: archived.topic, partition },
      end,
    );
  });
  const counts = await Promise.all(parts.map((part) => part.run()));
  await appender.close();
  await setTime(log, spec, time);
  const count = counts.reduce((sum, records) => sum + records, 0);
  return { lines: [`${count} records in ${counts.length} partitions, at their offsets`], exitCode: 0 };
}

/** @throws Error with what the operator is to do where the topic's time is another one and may not be set */
async function setTime(log: Log, spec: TopicSpec, time: string): Promise<void> {
  const wanted = [{ ...spec, config: { 'message.timestamp.type': time } }];
  const isSet = async () =>
    (await log.createTopics(wanted)).every(({ differences }) => !differences.join().includes('message.timestamp.type'));
  if (await isSet()) return;
  await log.alterTopic(spec.name, { 'message.timestamp.type': time }).catch((error: Error) => {
    throw new Error(`set message.timestamp.type of ${spec.name} to ${time}, and run this again: ${error.message}`);
  });
  // A broker that does not have the setting yet would stamp records with its own time.
  do await pause(SETTLE_MS);
  while (!(await isSet()));
}

interface Restore {
  readonly log: Log;
  readonly appender: Appender;
  readonly archive: ArchiveManifest;
  readonly folder: string;
  readonly clientId: string;
}

/** One partition, appended in order. */
class PartitionRestore {
  readonly #restore: Restore;
  readonly #place: TopicPartition;
  /** Where the next record will be stored. */
  #end: bigint;
  #waiting: LogRecord[] = [];
  #bytes = 0;

  constructor(restore: Restore, place: TopicPartition, end: bigint) {
    this.#restore = restore;
    this.#place = place;
    this.#end = end;
  }

  /** @returns how many records were appended */
  async run(): Promise<number> {
    const { log, archive, folder } = this.#restore;
    const { partition } = this.#place;
    if (this.#end > 0n) {
      const difference = await findDifference(log, archive, folder, this.#place, this.#end);
      if (difference !== undefined) throw new Error(`${difference}. Delete the topic, and begin again`);
    }
    let count = 0;
    for (const segment of archive.segments.filter((one) => one.partition === partition && BigInt(one.to) > this.#end)) {
      for (const record of readSegment(folder, segment, this.#place)) {
        if (record.offset < this.#end) continue;
        await this.#add(record);
        count += 1;
      }
      await this.#flush();
    }
    await this.#fill(BigInt(archive.to[partition] ?? 0));
    return count;
  }

  async #add(record: StoredRecord): Promise<void> {
    const [first] = this.#waiting;
    const isFar = Math.abs(record.timestampMs - (first?.timestampMs ?? record.timestampMs)) > APPEND_SPAN_MS;
    const isGap = record.offset > this.#end + BigInt(this.#waiting.length);
    if (isGap || isFar || this.#bytes > APPEND_BYTES) await this.#flush();
    if (isGap) await this.#fill(record.offset);
    const { topic, partition, key, value, headers, timestampMs } = record;
    this.#waiting.push({ topic, partition, key, value, headers, timestampMs });
    this.#bytes += RECORD_BYTES + key.length + (value?.length ?? 0) + JSON.stringify(headers).length;
  }

  async #flush(): Promise<void> {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    [this.#waiting, this.#bytes] = [[], 0];
    const [stored] = await this.#restore.appender.append(waiting);
    if (stored?.offset !== this.#end)
      throw new Error(
        `partition ${this.#place.partition}: stored at ${stored?.offset}, not at ${this.#end}: something else writes. Delete the topic, and begin again`,
      );
    this.#end += BigInt(waiting.length);
  }

  /** Control records up to an offset: whoever takes a partition over leaves one. */
  async #fill(to: bigint): Promise<void> {
    const { log, clientId } = this.#restore;
    const transactionalId = `${clientId}-restore-${this.#place.partition}`;
    for (; this.#end < to; this.#end += 1n) {
      const publisher = log.createFencedPublisher({
        transactionalId,
        ownPartitions: [this.#place],
        timeoutMs: TIMEOUT_MS,
      });
      await publisher.takeOver();
      await publisher.close();
    }
  }
}
