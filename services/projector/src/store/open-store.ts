import { setTimeout as pause } from 'node:timers/promises';
import type { Hex } from '@makerbook/contracts-primitives';
import type { RowShape } from '@makerbook/postgres';
import {
  byteaOf,
  type DueMaker,
  type FundingRow,
  gatherCalls,
  type HashKey,
  type HashRow,
  type MakerRow,
  type OrderRow,
  type PartitionClock,
  type Postgres,
  PostgresUnavailable,
  type Projection,
  type Query,
  type RowsPosition,
  seeOneMoment,
  shapes,
} from '@makerbook/postgres';
import { type PositionTaken, type ProjectionCommit, saveProjections } from './save-projection.js';

/** Changes of orders in one statement, so that a small commit does not wait long for large ones. */
const CHANGES_PER_STATEMENT_MAX = 2_000;
/** Lets changes share a commit, which costs several times a change. Feeds do not wait; a GET of an own write may. */
const BETWEEN_COMMITS_MS = 20;

/** Why a maker is not folded any more, and from where on. */
export interface Quarantine {
  /** The offset of the first fact that was not folded for the maker. */
  readonly offset: bigint;
  readonly reason: string;
  /** The partition's clock before that fact. */
  readonly clock: PartitionClock;
}

/** The state that the owner of a partition begins with, read at one moment. */
export interface TakenProjection {
  readonly projection: Projection;
  /** When the server was started, in microseconds since 1970. A restarted server may have lost its last commits. */
  readonly serverStartedAt: bigint;
  /** All makers with open orders that are not quarantined. */
  readonly due: readonly DueMaker[];
  readonly quarantined: ReadonlyMap<Hex, Quarantine>;
}

/** Rows of a partition, with the position that each statement read. */
export interface Positioned {
  readonly positions: readonly RowsPosition[];
}

/** All rows of some makers. */
export interface MakerRows extends Positioned {
  readonly makers: readonly MakerRow[];
  readonly funding: readonly FundingRow[];
  /** Each maker's oldest acceptance first. */
  readonly orders: readonly OrderRow[];
}

/** The remembered hashes among those asked for. */
export interface KnownHashes extends Positioned {
  readonly hashes: readonly HashRow[];
}

/** The rows as their writer, the projector, sees them. */
export type ProjectionStore = ReturnType<typeof openProjectionStore>;

/** @param commitsAtOnceMax statements that commit rows at once; the partitions that wait share the next one */
export function openProjectionStore(postgres: Postgres, commitsAtOnceMax: number) {
  const save = gatherCalls<ProjectionCommit, PositionTaken | undefined>({
    atOnceMax: commitsAtOnceMax,
    sizeOf: ({ history }) => history.length,
    sizeMax: CHANGES_PER_STATEMENT_MAX,
    begin: spaced(BETWEEN_COMMITS_MS),
    compare: (a, b) => a.partition - b.partition,
    decide: (commits) => saveProjections(postgres, commits),
    isOfOne: (error) => !(error instanceof PostgresUnavailable),
  });
  return {
    takeProjection: (partition: number) => takeProjection(postgres, partition),
    readMakers: (partition: number, makers: readonly Hex[]) => readMakers(postgres, partition, makers),
    findKnownHashes: (partition: number, hashes: readonly HashKey[]) => findKnownHashes(postgres, partition, hashes),
    /**
     * Commits the changes by a part of the log, and the position after it. If two owners fold the same part, one
     * commits. The other gets PositionTaken and has written nothing.
     * @throws PositionTaken, PostgresUnavailable (the outcome is unknown: read the position again), InvariantBroken
     */
    saveProjection: async (commit: ProjectionCommit): Promise<void> => {
      const taken = await save(commit);
      if (taken !== undefined) throw taken;
    },
  };
}

/** Returns a function whose promises resolve at least so long after each other, the first one at once. */
function spaced(ms: number): () => Promise<void> {
  let nextAtMs = Number.NEGATIVE_INFINITY;
  return async () => {
    const leftMs = nextAtMs - performance.now();
    nextAtMs = performance.now() + Math.max(0, leftMs) + ms;
    if (leftMs > 0) await pause(leftMs);
  };
}

export const startOfRows: Projection = {
  nextOffset: 0n,
  blockParts: 0,
  clock: { block: -1, seconds: 0 },
  clockMs: 0,
  book: { entries: 0, hash: `0x${'00'.repeat(32)}` },
};

/** Reads how far the rows of a partition have come; a partition that was never projected is at 0. */
export async function readProjection(postgres: Pick<Postgres, 'query'>, partition: number): Promise<Projection> {
  const sql = 'select * from projections where partition = $1';
  const [row] = await postgres.query(sql, [partition], 'read projection');
  if (row === undefined) return startOfRows;
  const { nextOffset, blockParts, blockNumber, blockTimestamp, clockMs, ...book } = shapes.projection.read(row);
  const clock = { block: blockNumber ?? -1, seconds: blockTimestamp };
  return { nextOffset, blockParts, clock, clockMs, book: { entries: book.bookEntries, hash: book.bookHash } };
}

/**
 * Reads the state that the owner of a partition begins with. Adds the partition's row first, because each commit needs
 * it.
 */
export async function takeProjection(postgres: Postgres, partition: number): Promise<TakenProjection> {
  await postgres.query('insert into projections (partition) values ($1) on conflict do nothing', [partition]);
  return postgres.transaction(async (query) => {
    // Read at one moment: an earlier owner may still commit.
    await query(seeOneMoment);
    return readTaken(query, partition);
  });
}

async function readTaken(query: Query, partition: number): Promise<TakenProjection> {
  const projection = await readProjection({ query }, partition);
  const [server] = await query<{ started_at: bigint }>(
    // After a crash of one of its processes, Postgres recovers within the same postmaster, and resets its statistics.
    `select (extract(epoch from greatest(pg_postmaster_start_time(), (select stats_reset from pg_stat_bgwriter))) * 1000000)::bigint
       as started_at`,
  );
  const due = await query(
    'select maker, due_at_seconds, open_orders from makers where partition = $1 and due_at_seconds is not null',
    [partition],
  );
  const quarantined = await query(
    'select * from makers where partition = $1 and quarantined_offset is not null order by maker',
    [partition],
  );
  return {
    projection,
    serverStartedAt: server?.started_at ?? 0n,
    due: due.map((row) => shapes.due.read(row)),
    quarantined: new Map(quarantined.flatMap((stored) => quarantineOf(shapes.maker.read(stored)))),
  };
}

/** Reads the rows of makers table by table, as many partitions share few connections. An unknown maker has none. */
export async function readMakers(
  postgres: Pick<Postgres, 'query'>,
  partition: number,
  makers: readonly Hex[],
): Promise<MakerRows> {
  const values = [makers.map(byteaOf)];
  const own = (table: string) => `select * from ${table} where maker = any($1::bytea[])`;
  const makerRows = await readPositioned(postgres, partition, shapes.maker, own('makers'), values);
  const funding = await readPositioned(postgres, partition, shapes.funding, own('funding'), values);
  const oldestFirst = { orderBy: 'maker, accepted_offset' };
  const orders = await readPositioned(postgres, partition, shapes.order, own('orders'), values, oldestFirst);
  return {
    makers: makerRows.rows,
    funding: funding.rows,
    orders: orders.rows,
    positions: [makerRows.position, funding.position, orders.position],
  };
}

/** Reads which of the hashes are remembered, except UNFOLDED ones. */
export async function findKnownHashes(
  postgres: Pick<Postgres, 'query'>,
  partition: number,
  hashes: readonly HashKey[],
): Promise<KnownHashes> {
  if (hashes.length === 0) return { hashes: [], positions: [] };
  const { rows, position } = await readPositioned(
    postgres,
    partition,
    shapes.hash,
    `select ${shapes.hash.list} from ${shapes.hashKey.given(1)} join hashes using (order_hash, maker)
     where state <> 'UNFOLDED'`,
    shapes.hashKey.toArrays(hashes),
    { name: 'find known hashes' },
  );
  return { hashes: rows, positions: [position] };
}

/**
 * Reads rows of the partition and their position in one statement, and so at one moment.
 * @param select takes the values as $1 and so on
 * @param options.name the name of the prepared statement
 */
async function readPositioned<Row extends object>(
  postgres: Pick<Postgres, 'query'>,
  partition: number,
  shape: RowShape<Row>,
  select: string,
  values: readonly unknown[],
  { orderBy, name }: { readonly orderBy?: string; readonly name?: string } = {},
): Promise<{ readonly rows: readonly Row[]; readonly position: RowsPosition }> {
  const sql = `
    select found.*, next_offset, block_parts
    from (values ($${values.length + 1}::integer)) as asked (partition) left join projections using (partition)
      left join (select true as is_found, own.* from (${select}) as own) as found on true
    ${orderBy === undefined ? '' : `order by ${orderBy}`}`;
  type Read = { is_found: true | null; next_offset: bigint | null; block_parts: number | null };
  const rows = await postgres.query<Read>(sql, [...values, partition], name);
  const { next_offset: nextOffset, block_parts: blockParts } = rows[0] ?? {};
  return {
    rows: rows.filter(({ is_found }) => is_found !== null).map((row) => shape.read(row)),
    position: { nextOffset: nextOffset ?? 0n, blockParts: blockParts ?? 0 },
  };
}

function quarantineOf(row: MakerRow): [Hex, Quarantine][] {
  const { maker, quarantinedOffset: offset, quarantineReason: reason, quarantineClock: clock } = row;
  return offset === null || reason === null || clock === null ? [] : [[maker, { offset, reason, clock }]];
}
