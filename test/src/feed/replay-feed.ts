import type { RecordedRecord } from '@makerbook/book';
import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import type { Log, LogRecord } from '@makerbook/kafka';
import { readFeedFile } from './keep-files.js';

export interface ReplayOptions {
  readonly file: string;
  readonly topicPrefix: string;
  /** How many times as fast as the records came. */
  readonly speed: number;
  /** True if blocks and orders get current times. Orders and proofs of the book stay as they are. */
  readonly isFresh: boolean;
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<unknown>;
}

const APPENDED_RECORDS_MAX = 200;

/**
 * Plays a recorded feed into the topic of the book, which is created if it is missing.
 * @returns how many records
 * @throws Error if the topic is not empty
 */
export async function replayFeed(
  log: Pick<Log, 'createTopics' | 'endOffsets' | 'createAppender'>,
  { file, topicPrefix, speed, isFresh, now, pause }: ReplayOptions,
): Promise<number> {
  const topic = topicNames(topicPrefix).book;
  await prepareTopic(log, topicPrefix, await countPartitions(file));
  const appender = log.createAppender();
  const due: LogRecord[] = [];
  const startMs = now();
  let firstMs: number | undefined;
  let count = 0;
  const append = async () => {
    if (due.length > 0) await appender.append(due.splice(0));
  };
  for await (const record of readFeedFile(file)) {
    const beginMs = firstMs ?? record.timeMs;
    firstMs = beginMs;
    const toNow = (ms: number) => startMs + (ms - beginMs) / speed;
    const waitMs = toNow(record.timeMs) - now();
    if (waitMs > 0 || due.length === APPENDED_RECORDS_MAX) await append();
    if (waitMs > 0) await pause(waitMs);
    const { partition, key, headers } = record;
    const value = isFresh ? freshened(record, toNow) : record.value;
    due.push({ topic, partition, key, headers, value: value === null ? null : Buffer.from(String(value)) });
    count += 1;
  }
  await append();
  await appender.close();
  return count;
}

/** Creates the topic if it is missing. Refuses one with records, because a projector may write it. */
async function prepareTopic(
  log: Pick<Log, 'createTopics' | 'endOffsets'>,
  topicPrefix: string,
  partitions: number,
): Promise<void> {
  const names = topicNames(topicPrefix);
  const [outcome] = await log.createTopics(topicSpecs(names, partitions).filter(({ name }) => name === names.book));
  if ((await log.endOffsets(names.book)).some((end) => end > 0n))
    throw new Error(`${names.book} is not empty: a projector may write it. Name another topic by TOPIC_PREFIX`);
  const [difference] = outcome?.differences ?? [];
  if (difference !== undefined) throw new Error(`${names.book} has ${difference}. Name another topic by TOPIC_PREFIX`);
}

async function countPartitions(file: string): Promise<number> {
  let last = 0;
  for await (const { partition } of readFeedFile(file)) last = Math.max(last, partition);
  return last + 1;
}

function freshened({ value }: RecordedRecord, toNow: (ms: number) => number): string | null {
  if (value === null) return null;
  const data = JSON.parse(String(value));
  const seconds = (time: number) => Math.floor(toNow(time * 1000) / 1000);
  if (data.block !== undefined) data.block.timestamp = seconds(data.block.timestamp);
  else
    Object.assign(data, {
      routableUntil: seconds(data.routableUntil),
      acceptedAtMs: Math.floor(toNow(data.acceptedAtMs)),
    });
  return JSON.stringify(data);
}
