import { topicNames } from '@makerbook/contracts-events';
import { type Log, partitionOf, type StoredRecord } from '@makerbook/kafka';
import { readTopic } from './read-topic.js';

/** An operator's decision about a parked message. */
export type Resolution = 'replayed' | 'discarded';

/** A message that was set aside, as `limit-orders.parked.v1` shows it. */
export interface ParkedMessage {
  /** `partition:offset` of the message in the log, and the maker where it is parked for that maker alone. */
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  readonly reason: string;
  /** The maker who is in quarantine since this message. */
  readonly maker: string | undefined;
  readonly key: string;
  /** UTF-8; null where the message had no value, or one that was too large to be kept. */
  readonly value: string | null;
  /** The headers of the message itself. */
  readonly headers: Readonly<Record<string, string>>;
  readonly parkedAtMs: number;
  /** Why it cannot be replayed. */
  readonly obstacle: string | undefined;
  readonly resolution: Resolution | undefined;
}

interface Stored extends ParkedMessage {
  readonly record: StoredRecord;
}

export interface ResolveOptions {
  readonly prefix: string;
  readonly partitions: number;
  /** Names the command in what it writes. */
  readonly commandId: string;
}

/** The outcome for one message that a command named. */
export interface Resolved {
  readonly id: string;
  /** Why nothing was done. */
  readonly refusal: string | undefined;
}

const RESOLUTION = 'resolution';

/** Every parked message that is still kept, the oldest first, also those that are resolved. */
export async function listParked(log: Log, prefix: string): Promise<ParkedMessage[]> {
  return [...(await readParked(log, prefix)).values()].map(({ record: _, ...message }) => message);
}

/**
 * Appends parked messages to the log again, each to the partition of its key, or only notes that they are dealt with.
 * The note is written behind the message: where the command ends between the two, the message is appended again by the
 * next one, and the fold takes a fact that it has folded without effect.
 * @throws LogUnavailable
 */
export async function resolveParked(
  log: Log,
  resolution: Resolution,
  ids: readonly string[],
  { prefix, partitions, commandId }: ResolveOptions,
): Promise<Resolved[]> {
  const parked = await readParked(log, prefix);
  const appender = log.createAppender();
  const resolve = async (id: string): Promise<Resolved> => {
    const message = parked.get(id);
    if (message === undefined) return { id, refusal: 'no such message is parked' };
    if (message.resolution !== undefined) return { id, refusal: `it was ${message.resolution} already` };
    if (resolution === 'replayed' && message.obstacle !== undefined) return { id, refusal: message.obstacle };
    const { key, value } = message.record;
    if (resolution === 'replayed') {
      const partition = key === '' ? message.partition : partitionOf(key, partitions);
      const headers = { ...message.headers, 'replayed-from': id };
      await appender.append([{ topic: message.topic, partition, key, value, headers }]);
    }
    const headers = { ...originOf(message.record), [RESOLUTION]: resolution, 'resolution-command': commandId };
    const note = { topic: topicNames(prefix).parked, partition: message.record.partition, key, value: null, headers };
    await appender.append([note]);
    return { id, refusal: undefined };
  };
  const outcomes: Resolved[] = [];
  for (const id of new Set(ids)) outcomes.push(await resolve(id));
  await appender.close();
  return outcomes;
}

async function readParked(log: Log, prefix: string): Promise<ReadonlyMap<string, Stored>> {
  return gatherParked(await readTopic(log, topicNames(prefix).parked));
}

/** A message that is parked again, as after a crash, is one; its resolution counts wherever it is. */
export function gatherParked(records: readonly StoredRecord[]): ReadonlyMap<string, Stored> {
  const resolutions = new Map<string, Resolution>();
  for (const { headers } of records) {
    const resolution = headers[RESOLUTION];
    if (resolution === 'replayed' || resolution === 'discarded') resolutions.set(idOf(headers), resolution);
  }
  const parked = new Map<string, Stored>();
  const byAge = records.toSorted((a, b) => a.timestampMs - b.timestampMs);
  for (const record of byAge) {
    const id = idOf(record.headers);
    if (record.headers[RESOLUTION] !== undefined || parked.has(id)) continue;
    parked.set(id, { ...describe(id, record), resolution: resolutions.get(id) });
  }
  return parked;
}

function describe(id: string, record: StoredRecord): Omit<Stored, 'resolution'> {
  const { headers } = record;
  const origin = new Set(Object.keys(headers).filter((name) => name.startsWith('parked-')));
  return {
    id,
    topic: headers['parked-topic'] ?? '',
    partition: Number(headers['parked-partition']),
    offset: headers['parked-offset'] ?? '',
    reason: headers['parked-reason'] ?? '',
    maker: headers['parked-maker'],
    key: record.key,
    value: record.value?.toString('utf8') ?? null,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !origin.has(name))),
    parkedAtMs: record.timestampMs,
    obstacle: obstacleOf(headers),
    record,
  };
}

function obstacleOf(headers: StoredRecord['headers']): string | undefined {
  const maker = headers['parked-maker'];
  if (maker !== undefined) return `it is folded again by \`makers release ${maker}\`: discard it afterwards`;
  if (headers['parked-next-offset'] !== undefined) return 'it is a batch of messages that cannot be decoded';
  if (headers['parked-value-omitted'] !== undefined) return 'it was too large to be kept: it is in the log alone';
  return undefined;
}

function originOf({ headers }: StoredRecord): Record<string, string> {
  const kept = ['parked-topic', 'parked-partition', 'parked-offset', 'parked-maker'];
  return Object.fromEntries(Object.entries(headers).filter(([name]) => kept.includes(name)));
}

function idOf(headers: StoredRecord['headers']): string {
  const id = `${headers['parked-partition']}:${headers['parked-offset']}`;
  const maker = headers['parked-maker'];
  return maker === undefined ? id : `${id}:${maker}`;
}
