import { decodeBookRecord, type TopicNames } from '@makerbook/contracts-events';
import type { Log, StoredRecord } from '@makerbook/kafka';
import type { Postgres } from '@makerbook/postgres';
import { factOfMessage } from '../fold/describe-feeds.js';
import { readBook } from '../store/compare-rows.js';

interface BookParts {
  readonly log: Log;
  /** Holds the replayed rows. */
  readonly postgres: Postgres;
  readonly topics: TopicNames;
}

/** The newest message of an order. */
interface Newest {
  /** The offset of the fact that led to the message. */
  readonly offset: bigint;
  readonly state: string;
}

const NOTHING = 'nothing';

/**
 * Compares one partition of the router's book with the orders that a replay leaves in it. Messages that were published
 * since the position are not judged.
 * @param position the offset up to which the log was replayed
 * @returns the first difference; empty if they agree
 */
export async function compareBook(partition: number, position: bigint, parts: BookParts): Promise<string[]> {
  const { postgres, topics } = parts;
  const newest = await readNewest(partition, parts);
  const expected = await readBook(postgres, partition);
  for (const orderHash of new Set([...expected.keys(), ...newest.keys()])) {
    const { offset, state: found } = newest.get(orderHash) ?? { offset: -1n, state: NOTHING };
    const wanted = expected.get(orderHash) ?? NOTHING;
    if (offset >= position || found === wanted) continue;
    return [`${topics.book}, partition ${partition}, ${orderHash}: the feed has ${found}, a replay ${wanted}`];
  }
  return [];
}

async function readNewest(partition: number, { log, topics }: BookParts): Promise<ReadonlyMap<string, Newest>> {
  const newest = new Map<string, Newest>();
  for await (const { records } of log.readRange({ topic: topics.book, partition })) {
    for (const record of records) {
      const fact = factOfMessage(record);
      const state = fact && stateOf(record);
      if (fact !== undefined && state !== undefined) newest.set(record.key, { offset: fact.offset, state });
    }
  }
  return newest;
}

/** The state of an order in its message; undefined for the clock. */
function stateOf({ headers, value }: StoredRecord): string | undefined {
  if (value === null) return NOTHING;
  const entry = decodeBookRecord({ headers: { ...headers }, value });
  if ('unreadable' in entry) throw new Error(`the book cannot be read: ${entry.unreadable}`);
  if (entry.type !== 'BookEntry') return undefined;
  const reason = entry.status === 'INACTIVE' ? [entry.reason] : [];
  return [entry.status, ...reason, BigInt(entry.remainingMakingAmount)].join(' ');
}
