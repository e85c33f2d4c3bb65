import { parseLine } from '@makerbook/book';
import type { Fill } from '@makerbook/contracts-events';
import type { StoredRecord } from '@makerbook/kafka';
import type { LogInMemory } from '@makerbook/kafka/testing';
import type { FeedName, FollowedFeed, ReadFeed } from '../follow-feed.js';
import { TOPICS } from '../run-processes.js';
import { describeFill, placeOf } from './judge-feed.js';

/** Compares snapshots and streams with the topics: routers must receive each record once, in order, to the end. */
export function judgeStreamsOfFeed(log: LogInMemory, partitions: number, all: readonly FollowedFeed[]): string[] {
  return all.flatMap(({ name, all: reads, wrong }) => {
    const topic = Array.from({ length: partitions }, (_, partition) => toldOf(name, log, partition));
    const ends = reads.map((read) => judgeRead(name, topic, read));
    const isWhole = (next: readonly number[]) =>
      topic.every((records, partition) => next[partition] === records.length);
    const last = ends.at(-1);
    const unread = last !== undefined && last.wrong.length === 0 && !isWhole(last.next);
    return [
      ...wrong,
      ...ends.flatMap((end) => end.wrong),
      ...(unread ? [`is not told all, but up to ${last.next} of ${topic.map(({ length }) => length)}`] : []),
    ].map((what) => `a router that follows the ${name}: ${what}`);
  });
}

/** Leaves out repeated messages of a fill: feed streams the first one only. */
function toldOf(name: FeedName, log: LogInMemory, partition: number): readonly StoredRecord[] {
  const records = log.records(TOPICS[name], partition);
  if (name === 'book') return records;
  const told = new Set<number>();
  return records.filter((record) => {
    const place = placeOf(JSON.parse(String(record.value)) as Fill);
    return told.size < told.add(place).size;
  });
}

/** @returns what is wrong, and how many records of each partition the router has received */
function judgeRead(name: FeedName, topic: readonly (readonly StoredRecord[])[], { lines, cursor, events }: ReadFeed) {
  const wrong: string[] = [];
  const items = itemsOf(cursor);
  const next = topic.map((records, partition) => records.findIndex((each) => idOf(each) === items[partition]) + 1);
  if (name === 'book') {
    const held = lines.map(parseLine).map(({ partition, key, value }) => `${partition} ${key} ${value}`);
    const must = topic.flatMap((records, partition) => linesOf(partition, records.slice(0, next[partition])));
    if (held.join('\n') !== must.join('\n')) wrong.push(`the snapshot of ${cursor} is not what the topic has`);
  }
  for (const { cursor: behind, event, data } of events) {
    const now = itemsOf(behind);
    const [partition = -1, ...others] = now.flatMap((item, at) => (item === items[at] ? [] : [at]));
    const record = topic[partition]?.[next[partition] ?? 0];
    const must = record && `${idOf(record)} ${eventOf(name, record)} ${bodyOf(name, record)}`;
    const is = `${now[partition]} ${event} ${name === 'book' ? readBody(data) : describeFill(JSON.parse(data))}`;
    if (is !== must || others.length > 0) {
      wrong.push(`behind ${items} came\n    ${is}, and must come\n    ${must}`);
      break;
    }
    items[partition] = now[partition] ?? '';
    next[partition] = (next[partition] ?? 0) + 1;
  }
  return { wrong, next };
}

/** Splits a cursor into the message ids of the partitions. */
const itemsOf = (cursor: string): string[] => cursor.slice(0, cursor.lastIndexOf(':')).split(',');

/** Reads a record's message id, without its partition. */
const idOf = ({ headers }: StoredRecord) => headers['ce_id']?.slice(headers['ce_id'].indexOf(':') + 1);

function linesOf(partition: number, records: readonly StoredRecord[]): string[] {
  const held = new Map<string, string>();
  for (const { key, value } of records) {
    held.delete(key ?? '');
    if (value !== null) held.set(key ?? '', `${partition} ${key} ${value}`);
  }
  return [...held.values()];
}

function eventOf(name: FeedName, { key, value }: StoredRecord): string {
  if (name === 'fills') return 'fill';
  if (key?.startsWith('clock:')) return 'clock';
  return value === null ? 'removed' : 'entry';
}

function bodyOf(name: FeedName, { key, value }: StoredRecord): string {
  return name === 'book' ? `${key} ${value}` : describeFill(JSON.parse(String(value)));
}

function readBody(line: string): string {
  const { key, value } = parseLine(line);
  return `${key} ${value}`;
}
