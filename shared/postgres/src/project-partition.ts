import type { Hex } from '@makerbook/contracts-primitives';
import { byteaOf, type Postgres } from './connect-postgres.js';
import {
  type FundingRow,
  type HashKey,
  type MakerRow,
  type OrderRow,
  type PartitionClock,
  type Projection,
  shapes,
} from './projection-rows.js';
import { type ProjectionCommit, saveProjection, tryProjection } from './save-projection.js';

/** Why a maker is not folded any more, and from where on. */
export interface Quarantine {
  /** The first fact that was not folded for it. */
  readonly offset: bigint;
  readonly reason: string;
  /** The partition's clock before that fact. */
  readonly clock: PartitionClock;
}

/** A maker with orders that are due some time, and how many are open. */
export interface DueMaker {
  readonly maker: Hex;
  readonly dueAtSeconds: number;
  readonly openOrders: number;
}

/** What the owner of a partition begins with. */
export interface TakenProjection {
  readonly projection: Projection;
  /** All makers with open orders that are not quarantined. */
  readonly due: readonly DueMaker[];
  readonly quarantined: ReadonlyMap<Hex, Quarantine>;
  /** Orders of quarantined makers that have not left the book yet. */
  readonly owed: readonly OrderRow[];
}

/** What was read of a partition's rows, and the version that these had in each statement that read them; 0 where there are none. */
export interface Versioned {
  readonly versions: readonly bigint[];
}

/** Everything that some makers' rows hold. */
export interface MakerRows extends Versioned {
  readonly makers: readonly MakerRow[];
  readonly funding: readonly FundingRow[];
  /** Oldest acceptance first. */
  readonly orders: readonly OrderRow[];
}

/** What became earlier of some hashes. */
export interface KnownHashes extends Versioned {
  /** Accepted before, open or not. */
  readonly accepted: ReadonlySet<Hex>;
  /** Cancelled before, and not accepted by then. */
  readonly cancelled: ReadonlySet<Hex>;
}

/** The rows as the one who writes them sees them. */
export type ProjectionStore = ReturnType<typeof openProjectionStore>;

export function openProjectionStore(postgres: Postgres) {
  return {
    takeProjection: (partition: number) => takeProjection(postgres, partition),
    readProjection: (partition: number) => readProjection(postgres, partition),
    readMakers: (partition: number, makers: readonly Hex[]) => readMakers(postgres, partition, makers),
    findKnownHashes: (partition: number, hashes: readonly HashKey[]) => findKnownHashes(postgres, partition, hashes),
    saveProjection: (commit: ProjectionCommit) => saveProjection(postgres, commit),
    tryProjection: (commit: ProjectionCommit) => tryProjection(postgres, commit),
  };
}

/** Reads how far the rows of a partition have come; a partition that was never projected is at 0. */
export async function readProjection(postgres: Postgres, partition: number): Promise<Projection> {
  const sql = 'select * from projections where partition = $1';
  const [row] = await postgres.query<StoredProjection>(sql, [partition], 'read projection');
  return row === undefined ? projectionOf(neverProjected) : projectionOf(row);
}

/**
 * Takes the rows of a partition: no commit of an earlier owner succeeds after that, also where the rows fell back to older
 * ones meanwhile, for no version comes again. Nor can an earlier owner take the version for that of its own next commit.
 */
export async function takeProjection(postgres: Postgres, partition: number): Promise<TakenProjection> {
  const [row] = await postgres.query<StoredProjection>(
    `insert into projections (partition, version) values ($1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
     on conflict (partition) do update set version = greatest(projections.version + 2, excluded.version) returning *`,
    [partition],
  );
  if (row === undefined) throw new Error('an upsert returned no row');
  const isQuarantined = 'partition = $1 and quarantined_offset is not null';
  const [due, makers, owed] = await Promise.all([
    postgres.query<{ maker: Hex; due_at_seconds: bigint; open_orders: bigint }>(
      `select maker, due_at_seconds,
         (select coalesce(sum(open_orders), 0) from funding where funding.maker = makers.maker) as open_orders
       from makers where partition = $1 and due_at_seconds is not null`,
      [partition],
    ),
    postgres.query(`select * from makers where ${isQuarantined} order by maker`, [partition]),
    postgres.query(
      `select * from orders where in_book and maker in (select maker from makers where ${isQuarantined})
       order by maker, accepted_offset`,
      [partition],
    ),
  ]);
  return {
    projection: projectionOf(row),
    due: due.map(({ maker, due_at_seconds, open_orders }) => {
      return { maker, dueAtSeconds: Number(due_at_seconds), openOrders: Number(open_orders) };
    }),
    quarantined: new Map(makers.flatMap((stored) => quarantineOf(shapes.maker.read(stored)))),
    owed: owed.map((stored) => shapes.order.read(stored)),
  };
}

/** What is stored of makers of the partition. A maker of whom nothing is known has no row. */
export async function readMakers(postgres: Postgres, partition: number, makers: readonly Hex[]): Promise<MakerRows> {
  const values = [makers.map(byteaOf)];
  const own = (table: string) => `select * from ${table} where maker = any($1::bytea[])`;
  const [makerRows, fundingRows, orderRows] = await Promise.all([
    readVersioned(postgres, partition, own('makers'), values),
    readVersioned(postgres, partition, own('funding'), values),
    readVersioned(postgres, partition, own('orders'), values, { orderBy: 'maker, accepted_offset' }),
  ]);
  return {
    makers: makerRows.rows.map((row) => shapes.maker.read(row)),
    funding: fundingRows.rows.map((row) => shapes.funding.read(row)),
    orders: orderRows.rows.map((row) => shapes.order.read(row)),
    versions: [makerRows.version, fundingRows.version, orderRows.version],
  };
}

/** Which hashes of the partition were accepted before, and which were cancelled before they were accepted. */
export async function findKnownHashes(
  postgres: Postgres,
  partition: number,
  hashes: readonly HashKey[],
): Promise<KnownHashes> {
  if (hashes.length === 0) return { accepted: new Set(), cancelled: new Set(), versions: [] };
  const { rows, version } = await readVersioned<{ order_hash: Hex; is_accepted: boolean }>(
    postgres,
    partition,
    knownHashesSql,
    shapes.hashKey.toArrays(hashes),
    { name: 'find known hashes' },
  );
  const hashesOf = (isAccepted: boolean) =>
    new Set(rows.filter((row) => row.is_accepted === isAccepted).map((row) => row.order_hash));
  return { accepted: hashesOf(true), cancelled: hashesOf(false), versions: [version] };
}

/**
 * Reads rows of the partition and its version in one statement, and so at one moment: a version that is read before or after
 * them may be that of other rows.
 * @param select takes the values as $1 and so on
 * @param options.name under which the statement is prepared
 */
async function readVersioned<Row extends object>(
  postgres: Postgres,
  partition: number,
  select: string,
  values: readonly unknown[],
  { orderBy, name }: { readonly orderBy?: string; readonly name?: string } = {},
): Promise<{ readonly rows: readonly Row[]; readonly version: bigint }> {
  const sql = `
    select found.*, (select version from projections where partition = $${values.length + 1}) as rows_version
    from (values (1)) as always (present) left join (select true as is_found, own.* from (${select}) as own) as found on true
    ${orderBy === undefined ? '' : `order by ${orderBy}`}`;
  type Read = Row & { readonly is_found: true | null; readonly rows_version: bigint | null };
  const rows = await postgres.query<Read>(sql, [...values, partition], name);
  return { rows: rows.filter(({ is_found }) => is_found !== null), version: rows[0]?.rows_version ?? 0n };
}

/** Of the keys that are given as $1 and so on: each as often as it is known. */
export const knownHashesSql = `
  with asked as (select * from ${shapes.hashKey.given(1)})
  select order_hash, true as is_accepted
  from asked join order_history h using (maker, expires_at_seconds, order_hash)
  where h.happened = 'OPENED'
  union all
  select order_hash, false from asked join cancelled_hashes using (maker, expires_at_seconds, order_hash)`;

interface StoredProjection {
  readonly next_offset: bigint;
  readonly block_number: bigint | null;
  readonly block_timestamp: bigint;
  readonly version: bigint;
  readonly block_begun: boolean;
}

const neverProjected: StoredProjection = {
  next_offset: 0n,
  block_number: null,
  block_timestamp: 0n,
  version: 0n,
  block_begun: false,
};

function projectionOf(row: StoredProjection): Projection {
  return {
    nextOffset: row.next_offset,
    clock: { block: Number(row.block_number ?? -1), seconds: Number(row.block_timestamp) },
    isBlockBegun: row.block_begun,
    version: row.version,
  };
}

function quarantineOf(row: MakerRow): [Hex, Quarantine][] {
  const { maker, quarantinedOffset: offset, quarantineReason: reason, quarantineClock: clock } = row;
  return offset === null || reason === null || clock === null ? [] : [[maker, { offset, reason, clock }]];
}
