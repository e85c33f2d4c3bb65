import { hashKeyText } from '@makerbook/domain';
import {
  findKnownHashes,
  type HashRow,
  type ProjectionStore,
  type Query,
  readMakers,
  readTaken,
} from '@makerbook/postgres';

/**
 * The rows of a partition as a transaction sees them that sees one moment. Commits go to memory, of which only hashes are read
 * again: the fold must drop no maker.
 */
export function holdSnapshot(query: Query): ProjectionStore {
  const rows = { query: inTurn(query) };
  const newer = new Map<string, HashRow>();
  return {
    takeProjection: (partition) => readTaken(rows.query, partition),
    // The rows stay behind what the fold has committed, so their position says nothing.
    readMakers: async (partition, makers) => ({ ...(await readMakers(rows, partition, makers)), positions: [] }),
    findKnownHashes: async (partition, keys) => {
      const { hashes } = await findKnownHashes(rows, partition, keys);
      return { hashes: [...hashes, ...keys.flatMap((key) => newer.get(hashKeyText(key)) ?? [])], positions: [] };
    },
    saveProjection: async ({ hashes }) => {
      for (const row of hashes) if (row.state !== 'UNFOLDED') newer.set(hashKeyText(row), row);
    },
  };
}

/** A connection takes one statement at a time. */
function inTurn(query: Query): Query {
  let last: Promise<unknown> = Promise.resolve();
  return (...given) => {
    const answer = last.then(() => query(...given));
    last = answer.catch(() => undefined);
    return answer as never;
  };
}
