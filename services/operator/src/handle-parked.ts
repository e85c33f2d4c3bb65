import { STORED_BY, topicNames } from '@makerbook/contracts-events';
import { type Log, partitionOf, type StoredRecord } from '@makerbook/kafka';
import { readTopic } from './read-topic.js';

/** An operator's decision about a parked message. */
export type Resolution = 'replayed' | 'discarded';

/** A message that was set aside, as `limit-orders.parked.v1` shows it. */
export interface ParkedMessage {
  /** `partition:offset` of the message in the log; and `:maker` if it is parked for that maker alone. */
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  readonly reason: string;
  /** The maker who is in quarantine since this message. */
  readonly maker: string | undefined;
  readonly key: string;
  /** UTF-8; null if the message had no value, if the value was too large to keep, or if nobody asked for it. */
  readonly value: string | null;
  /** The headers of the message itself. */
  readonly headers: Readonly<Record<string, string>>;
  readonly parkedAtMs: number;
  /** Why it cannot be replayed. */
  readonly obstacle: string | undefined;
  readonly resolution: Resolution | undefined;
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

/**
 * Appends parked messages to the log again, each to the partition of its key, or only notes that they are dealt with.
 * The note is written after the message. If the command ends between the two, the next one appends the message again,
 * and the fold takes the repeated fact without effect.
 * @throws LogUnavailable
 */
export async function resolveParked(
  log: Log,
  resolution: Resolution,
  ids: readonly string[],
  { prefix, partitions, commandId }: ResolveOptions,
): Promise<Resolved[]> {
  const parked = await readParked(log, prefix, (id) => ids.includes(id));
  const appender = log.createAppender();
  const resolve = async (id: string): Promise<Resolved> => {
    const found = parked.find(id);
    if (found === undefined) return { id, refusal: 'no such message is parked' };
    const { message, record } = found;
    if (message.resolution !== undefined) return { id, refusal: `it was ${message.resolution} already` };
    if (resolution === 'replayed' && message.obstacle !== undefined) return { id, refusal: message.obstacle };
    const { key, value } = record;
    if (resolution === 'replayed') {
      const partition = key === '' ? message.partition : partitionOf(key, partitions);
      // No deadline holds for a replay: whoever asked was answered long ago.
      const { [STORED_BY]: _, ...own } = message.headers;
      const headers = { ...own, 'replayed-from': id };
      await appender.append([{ topic: message.topic, partition, key, value, headers }]);
    }
    const headers = { ...originOf(record), [RESOLUTION]: resolution, 'resolution-command': commandId };
    const note = { topic: topicNames(prefix).parked, partition: record.partition, key, value: null, headers };
    await appender.append([note]);
    return { id, refusal: undefined };
  };
  const outcomes: Resolved[] = [];
  for (const id of new Set(ids)) outcomes.push(await resolve(id));
  await appender.close();
  return outcomes;
}

/** Reads all that the topic keeps. @param needsValue true if the message's value is wanted @throws LogUnavailable */
export async function readParked(
  log: Log,
  prefix: string,
  needsValue: (id: string) => boolean,
): Promise<ParkedMessages> {
  const parked = new ParkedMessages(needsValue);
  for await (const record of readTopic(log, topicNames(prefix).parked)) parked.take(record);
  return parked;
}

/** Counts the messages that are not dealt with. It keeps only their ids. @throws TopicMismatch, LogUnavailable */
export async function countParked(log: Log, prefix: string): Promise<number> {
  const [ids, resolved] = [new Set<string>(), new Set<string>()];
  for await (const { headers } of readTopic(log, topicNames(prefix).parked)) {
    (headers[RESOLUTION] === undefined ? ids : resolved).add(idOf(headers));
  }
  for (const id of resolved) ids.delete(id);
  return ids.size;
}

/** The messages of the parked topic. There may be many, so it keeps only the values that are wanted. */
export class ParkedMessages {
  readonly #needsValue: (id: string) => boolean;
  readonly #records = new Map<string, StoredRecord>();
  readonly #resolutions = new Map<string, Resolution>();

  constructor(needsValue: (id: string) => boolean) {
    this.#needsValue = needsValue;
  }

  /** A message that is parked again, as after a crash, counts once. Its resolution counts wherever it is. */
  take(record: StoredRecord): void {
    const id = idOf(record.headers);
    const resolution = record.headers[RESOLUTION];
    if (resolution === 'replayed' || resolution === 'discarded') this.#resolutions.set(id, resolution);
    if (resolution !== undefined || this.#takenAtMs(id) <= record.timestampMs) return;
    this.#records.set(id, this.#needsValue(id) ? record : { ...record, value: null });
  }

  /** The message as it was parked. */
  find(id: string): { readonly message: ParkedMessage; readonly record: StoredRecord } | undefined {
    const record = this.#records.get(id);
    return record && { record, message: describe(id, record, this.#resolutions.get(id)) };
  }

  /** The open messages, the oldest first. */
  open(): ParkedMessage[] {
    const open = [...this.#records.keys()].filter((id) => !this.#resolutions.has(id));
    return open
      .sort((one, other) => this.#takenAtMs(one) - this.#takenAtMs(other))
      .flatMap((id) => this.find(id)?.message ?? []);
  }

  #takenAtMs(id: string): number {
    return this.#records.get(id)?.timestampMs ?? Number.POSITIVE_INFINITY;
  }
}

function describe(id: string, record: StoredRecord, resolution: Resolution | undefined): ParkedMessage {
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
    resolution,
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
