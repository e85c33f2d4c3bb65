import { randomBytes } from 'node:crypto';
import { testParts } from '@makerbook/parts';
import { connectLog } from '../connect-log.js';
import type { Log, Logger, LogRecord, StoredRecord } from '../log.js';

/** A logger that writes nothing. */
export const quiet: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** A log for one live test file: on the run's shared Kafka unless given another, with generous time limits. */
export function openTestLog(brokers = testParts().kafkaBrokers, logger = quiet): Log {
  const log = connectLog({ brokers: brokers.split(','), clientId: 'test', logger });
  const timeoutMs = 60_000;
  return {
    ...log,
    createAppender: (options) => log.createAppender({ timeoutMs, ...options }),
    createFencedPublisher: (options) => log.createFencedPublisher({ timeoutMs, ...options }),
    endOffsets: (topic, options) => log.endOffsets(topic, { timeoutMs, ...options }),
  };
}

/** Makes a topic that no other test uses. */
export async function makeTopic(log: Log, partitions: number, config: Record<string, string> = {}): Promise<string> {
  const name = `test-${randomBytes(6).toString('hex')}`;
  await log.createTopics([{ name, partitions, config }]);
  return name;
}

export function recordOf(topic: string, partition: number, key: string, value = key): LogRecord {
  return { topic, partition, key, value: Buffer.from(value), headers: { note: value } };
}

/** Decodes nothing: a consumer gets the records as they are. */
export function asRead(record: StoredRecord): StoredRecord {
  return record;
}

export function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

/** Notes the keys of the records that are handed over. */
export function noteKeys(seen: string[]) {
  return (_: number, records: readonly StoredRecord[]) => void seen.push(...records.map(({ key }) => key));
}

/** Reads everything that is in a topic now. The records of each partition are in order. */
export async function readRecords(log: Log, topic: string): Promise<StoredRecord[]> {
  const seen: StoredRecord[] = [];
  const onRecords = (_: number, records: readonly StoredRecord[]) => void seen.push(...records);
  const following = log.followTopic({ topic, from: 'beginning', onRecords });
  await following.caughtUp;
  await following.stop();
  return seen;
}

/** Reads the values of a topic, by partition. */
export async function readAll(log: Log, topic: string): Promise<readonly (readonly string[])[]> {
  const seen = await readRecords(log, topic);
  return Array.from(await log.endOffsets(topic), (_, partition) =>
    seen.flatMap((record) => (record.partition === partition ? (record.value?.toString() ?? '(tombstone)') : [])),
  );
}
