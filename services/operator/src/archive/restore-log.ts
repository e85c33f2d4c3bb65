import { pause } from '@makerbook/contracts-primitives';
import {
  type Appender,
  type Log,
  type LogRecord,
  RESTORED_HEADER,
  type StoredRecord,
  type TopicPartition,
  type TopicSpec,
} from '@makerbook/kafka';
import type { Outcome } from '../outcome.js';
import { ArchiveBroken, sizeOf } from './encode-parts.js';
import { type Archive, readParts, requireNewest } from './open-archive.js';
import { Comparison } from './verify-archive.js';

const TIMEOUT_MS = 60_000;
/** Append at most so many bytes at once, or one larger record. A record batch holds more. */
const APPEND_BYTES = 500_000;
/** Brokers apply a setting some time after they accept it. */
const SETTLE_MS = 2_000;
const NEXT = 'now run `salvage`, before any service starts: makers then repeat the cancellations that are lost';

/**
 * Appends an archive to an empty log, each record at its offset and with its time. The first record of each partition
 * is marked as restored, so earlier cursors are `gone`. A restore that broke off continues where the log ends, if what
 * the log has is the archive's.
 * @param spec the topic, as it must be at the end
 * @param context `clientId` begins the transactional ids; the restored log is named after `nowMs`
 * @throws ArchiveBroken, LogUnavailable; Error if something else writes to the topic
 */
export async function restoreLog(
  log: Log,
  spec: TopicSpec,
  archive: Archive,
  context: { readonly clientId: string; readonly nowMs: number },
): Promise<Outcome> {
  const { clientId, nowMs } = context;
  const to = (await requireNewest(archive)).header.to.map(BigInt);
  // Check the whole archive first: nothing is appended of a broken one.
  for await (const part of readParts(archive)) part.records(spec.name);
  const { 'message.timestamp.type': time = 'CreateTime', ...config } = spec.config;
  await log.createTopics([{ ...spec, config: { ...config, 'message.timestamp.type': 'CreateTime' } }]);
  await endOpened(log, clientId, to.length);
  const ends = await log.endOffsets(spec.name, { timeoutMs: TIMEOUT_MS });
  if (ends.length !== to.length)
    throw new Error(`${spec.name} has ${ends.length} partitions, and the archive ${to.length}: delete the topic`);
  // With LogAppendTime the broker would stamp all records with the time of the restore.
  if (ends.some((end, partition) => end < (to[partition] ?? 0n))) await setTime(log, spec, 'CreateTime');
  // A batch that is stored twice would move all records behind it.
  const appender = log.createAppender({ lingerMs: 0, timeoutMs: TIMEOUT_MS, isCompressed: true, isOnce: true });
  const restore = { log, appender, clientId, restoredAt: new Date(nowMs).toISOString() };
  const partitions = ends.map((end, partition) => new PartitionRestore(restore, { topic: spec.name, partition }, end));
  for await (const part of readParts(archive)) {
    const records = Map.groupBy(part.records(spec.name), ({ partition }) => partition);
    await Promise.all([...records].map(([partition, own]) => partitions[partition]?.add(own)));
  }
  const counts = await Promise.all(partitions.map((one, partition) => one.end(to[partition] ?? 0n)));
  await appender.close();
  await setTime(log, spec, time);
  const count = counts.reduce((sum, records) => sum + records, 0);
  const lines = [`${count} records in ${counts.length} partitions, at their offsets`, NEXT];
  return { lines, exitCode: 0 };
}

/** The transactional id that skips a partition's offsets. */
const skippingId = (clientId: string, partition: number): string => `${clientId}-restore-${partition}`;

/** Ends transactions that a killed restore left open. Call it before the ends are read: the markers take offsets. */
async function endOpened(log: Log, clientId: string, partitions: number): Promise<void> {
  const ids = Array.from({ length: partitions }, (_, partition) => skippingId(clientId, partition));
  await Promise.all(
    ids.map(async (transactionalId) => {
      const publisher = log.createFencedPublisher({ transactionalId, timeoutMs: TIMEOUT_MS });
      await publisher.takeOver();
      await publisher.close();
    }),
  );
}

/** @throws Error with what the operator must do, if the topic has another time that may not be set */
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
  readonly clientId: string;
  /** ISO 8601. */
  readonly restoredAt: string;
}

/** Appends one partition in order. */
class PartitionRestore {
  readonly #restore: Restore;
  readonly #place: TopicPartition;
  /** Compares what the log has already. */
  readonly #before: Comparison;
  readonly #from: bigint;
  #isCompared = false;
  #isFirst = true;
  /** The offset of the next record. */
  #end: bigint;
  #waiting: LogRecord[] = [];
  #bytes = 0;
  #count = 0;

  constructor(restore: Restore, place: TopicPartition, end: bigint) {
    this.#restore = restore;
    this.#place = place;
    this.#end = end;
    this.#from = end;
    this.#before = new Comparison(restore.log, place, end);
  }

  /** @param records the next ones, in order */
  async add(records: readonly StoredRecord[]): Promise<void> {
    for (const record of records) {
      if (record.offset < this.#from) await this.#before.expect(record);
      else await this.#add(this.#isFirst ? this.#mark(record) : record);
      this.#isFirst = false;
    }
  }

  /** @returns how many records were appended */
  async end(to: bigint): Promise<number> {
    await this.#compareBefore();
    await this.#flush();
    await this.#fill(to);
    return this.#count;
  }

  /** Refuses to append behind what is not the archive's. */
  async #compareBefore(): Promise<void> {
    if (this.#isCompared) return;
    this.#isCompared = true;
    const difference = await this.#before.end();
    if (difference !== undefined) throw new Error(`${difference}. Delete the topic, and start over`);
  }

  async #add(record: StoredRecord): Promise<void> {
    await this.#compareBefore();
    if (record.offset < this.#end + BigInt(this.#waiting.length))
      throw new ArchiveBroken(`partition ${record.partition} has ${record.offset} twice, or out of order`);
    this.#count += 1;
    const isGap = record.offset > this.#end + BigInt(this.#waiting.length);
    const { topic, partition, key, value, headers, timestampMs } = record;
    const bytes = sizeOf(record);
    if (isGap || this.#bytes + bytes > APPEND_BYTES) await this.#flush();
    if (isGap) await this.#fill(record.offset);
    this.#waiting.push({ topic, partition, key, value, headers, timestampMs });
    this.#bytes += bytes;
  }

  async #flush(): Promise<void> {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    [this.#waiting, this.#bytes] = [[], 0];
    const [stored] = await this.#restore.appender.append(waiting);
    if (stored?.offset !== this.#end)
      throw new Error(
        `partition ${this.#place.partition}: stored at ${stored?.offset}, not at ${this.#end}: another process writes to it. Delete the topic, and start over`,
      );
    this.#end += BigInt(waiting.length);
  }

  #mark(record: StoredRecord): StoredRecord {
    return { ...record, headers: { ...record.headers, [RESTORED_HEADER]: this.#restore.restoredAt } };
  }

  /** Moves the end to an offset, for example where the log had control records. */
  async #fill(to: bigint): Promise<void> {
    const { log, clientId } = this.#restore;
    if (this.#end >= to) return;
    await log.skipOffsets(this.#place, Number(to - this.#end), skippingId(clientId, this.#place.partition));
    this.#end = to;
  }
}
