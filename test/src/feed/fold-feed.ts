import { bookClockKey, decodeBookRecord, topicNames } from '@makerbook/contracts-events';
import { hashKeyText } from '@makerbook/domain';
import type { FencedPublisher, Log, LogRecord } from '@makerbook/kafka';
import type { HashRow } from '@makerbook/postgres';
import { createTestProjector, type ProjectionStore, startOfRows } from '@makerbook/projector/testing';

/** The moment after a block in every partition, or after the fact at an offset of one partition. */
export type Moment = { readonly block: number } | { readonly partition: number; readonly offset: bigint };

export interface FoldFeedOptions {
  readonly log: Pick<Log, 'endOffsets' | 'readRange' | 'readRecords'>;
  readonly topicPrefix: string;
  readonly routingGraceSeconds: number;
}

/** Fold the log in pieces of this size, because the position of a block is not known beforehand. */
const STEP_OFFSETS = 10_000n;

/**
 * Folds the log again as a projector does. Returns the newest message of each key of the book at that moment, as it was
 * published, in the order of each partition, with tombstones. Holds all open orders and every hash in memory.
 * @throws Error if the log does not reach the moment
 */
export async function foldFeed(at: Moment, { log, topicPrefix, routingGraceSeconds }: FoldFeedOptions) {
  const topics = topicNames(topicPrefix);
  const ends = await log.endOffsets(topics.makerEvents);
  const end = 'block' in at ? 0n : ends[at.partition];
  if (!('block' in at) && (end === undefined || at.offset >= end))
    throw new Error(`the log has no position ${at.partition}:${at.offset}: partition ${at.partition} ends at ${end}`);
  const feed: LogRecord[] = [];
  for (const [partition, last] of ends.entries()) {
    if (!('block' in at) && at.partition !== partition) continue;
    const heard = 'block' in at ? hearToBlock(partition, at.block) : hearAll();
    const silent = async () => [];
    const publisher: FencedPublisher = {
      takeOver: async () => undefined,
      append: silent,
      publish: async (records) => {
        for (const record of records) if (record.topic === topics.book) heard.take(record);
        return [];
      },
      close: async () => undefined,
    };
    const projector = createTestProjector({
      store: keepNoRows(),
      log: { ...log, readLastRecords: silent },
      createFencedPublisher: () => publisher,
      topics,
      partitions: ends.length,
      routingGraceSeconds,
      heldMax: Number.MAX_SAFE_INTEGER,
      quarantinedMakersMax: Number.MAX_SAFE_INTEGER,
    });
    const to = 'block' in at ? last : at.offset + 1n;
    for (let next = 0n; next < to && !heard.isOver(); ) {
      next = next + STEP_OFFSETS < to ? next + STEP_OFFSETS : to;
      const hold = { assertOwned: () => undefined, park: async () => undefined };
      // The projector itself reads the log up to there.
      await projector.handleBatch({ partition, records: [], fromOffset: next, nextOffset: next }, hold);
    }
    await projector.onRevoked(partition);
    feed.push(...heard.newest());
  }
  return feed;
}

/** Keeps the newest message of each key. */
function hearAll() {
  const newest = new Map<string, LogRecord>();
  return {
    take(record: LogRecord): void {
      newest.delete(record.key);
      newest.set(record.key, record);
    },
    isOver: () => false,
    newest: () => [...newest.values()],
  };
}

/** Keeps the newest message of each key among those that the clock has completed up to the block. */
function hearToBlock(partition: number, block: number): ReturnType<typeof hearAll> {
  const complete = hearAll();
  let waiting: LogRecord[] = [];
  let reached = -1;
  return {
    take(record) {
      if (reached > block) return;
      waiting.push(record);
      if (record.key !== bookClockKey(partition)) return;
      const clock = decodeBookRecord({ ...record, headers: { ...record.headers } });
      reached = 'block' in clock ? clock.block.number : reached;
      if (reached <= block) for (const each of waiting) complete.take(each);
      waiting = [];
    },
    isOver: () => reached > block,
    newest() {
      if (reached < block)
        throw new Error(`partition ${partition} has not reached block ${block}: it is at ${reached}`);
      return complete.newest();
    },
  };
}

/** Rows for a projector that drops no maker, and so asks only for hashes. */
function keepNoRows(): ProjectionStore {
  let projection = startOfRows;
  const hashes = new Map<string, HashRow>();
  return {
    takeProjection: async () => ({ projection, serverStartedAt: 0n, due: [], quarantined: new Map() }),
    readMakers: async () => ({ makers: [], funding: [], orders: [], positions: [projection] }),
    findKnownHashes: async (_partition, keys) => {
      return { hashes: keys.flatMap((key) => hashes.get(hashKeyText(key)) ?? []), positions: [projection] };
    },
    saveProjection: async (commit) => {
      for (const row of commit.hashes) {
        if (row.state !== 'UNFOLDED' || !hashes.has(hashKeyText(row))) hashes.set(hashKeyText(row), row);
      }
      projection = commit.to;
    },
  };
}
