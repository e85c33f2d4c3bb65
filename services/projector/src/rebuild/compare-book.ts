import { decodeBookRecord, type TopicNames } from '@makerbook/contracts-events';
import type { Log } from '@makerbook/kafka';
import type { Postgres } from '@makerbook/postgres';
import { placeOfMessage } from '../fold/describe-feeds.js';
import { readRange } from '../own/read-range.js';

interface Newest {
  /** The offset of the fact that led to the message. */
  readonly offset: bigint;
  /** Undefined: a tombstone. */
  readonly state: string | undefined;
}

const RECORDS_MAX = 5_000;

/**
 * Compares one partition of the router's book with the orders that a replay has left in it. What was published since the
 * position is not judged.
 * @param position up to which the log was replayed
 * @returns the first difference; none where they agree
 */
export async function compareBook(
  partition: number,
  position: bigint,
  { log, postgres, topics }: { readonly log: Log; readonly postgres: Postgres; readonly topics: TopicNames },
): Promise<string[]> {
  const newest = await readNewest(partition, { log, topics });
  const rows = await postgres.query<{ order_hash: string; state: string }>(
    `select order_hash, concat_ws(' ', status, reason, remaining) as state
     from orders where partition = $1 and in_book order by order_hash`,
    [partition],
  );
  const expected = new Map(rows.map(({ order_hash, state }) => [order_hash, state]));
  for (const orderHash of new Set([...expected.keys(), ...newest.keys()])) {
    const message = newest.get(orderHash);
    if (message !== undefined && message.offset >= position) continue;
    if (message?.state !== expected.get(orderHash)) {
      const [found, wanted] = [message?.state, expected.get(orderHash)].map((state) => state ?? 'nothing');
      return [`${topics.book}, partition ${partition}, ${orderHash}: the feed has ${found}, a replay ${wanted}`];
    }
  }
  return [];
}

async function readNewest(
  partition: number,
  { log, topics }: { readonly log: Log; readonly topics: TopicNames },
): Promise<ReadonlyMap<string, Newest>> {
  const newest = new Map<string, Newest>();
  const ends = await log.endOffsets(topics.book, { timeoutMs: 10_000 });
  const range = { topic: topics.book, partition, from: 0n, to: ends[partition] ?? 0n };
  await readRange(log, range, RECORDS_MAX, new AbortController().signal, async (records) => {
    for (const record of records) {
      const place = placeOfMessage(record);
      if (place === undefined) continue;
      const { key, value } = record;
      if (value === null) {
        newest.set(key, { offset: place.offset, state: undefined });
        continue;
      }
      const entry = decodeBookRecord({ headers: { ...record.headers }, value });
      if ('unreadable' in entry) throw new Error(`${topics.book}: ${entry.unreadable}`);
      if (entry.type !== 'BookEntry') continue;
      const reason = entry.status === 'INACTIVE' ? [entry.reason] : [];
      const state = [entry.status, ...reason, BigInt(entry.remainingMakingAmount)].join(' ');
      newest.set(key, { offset: place.offset, state });
    }
  });
  return newest;
}
