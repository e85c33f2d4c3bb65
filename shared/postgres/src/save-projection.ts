import type { Hex } from '@makerbook/contracts-primitives';
import type { Postgres } from './connect-postgres.js';
import {
  type FundingRow,
  type HashKey,
  type HashRow,
  type HistoryRow,
  type MakerRow,
  type OrderRow,
  type OrderStateRow,
  type Projection,
  type RowsPosition,
  shapes,
} from './projection-rows.js';
import type { RowShape } from './row-shape.js';

/** The rows that a part of the log changed; each is named once. */
export interface ChangedRows {
  readonly makers: readonly MakerRow[];
  readonly funding: readonly FundingRow[];
  readonly fundingDropped: readonly Pick<FundingRow, 'maker' | 'token'>[];
  readonly opened: readonly OrderRow[];
  readonly changed: readonly OrderStateRow[];
  readonly removed: readonly Hex[];
  readonly history: readonly HistoryRow[];
  /** An UNFOLDED one is written only where nothing is known of the hash. */
  readonly hashes: readonly HashRow[];
  /** Orders that the log holds, whatever became of them: they are not in flight any more. May name one several times. */
  readonly submitted: readonly HashKey[];
  /** Cancellations that the log holds, and orders that are removed: nothing of it is on its way any more. Likewise. */
  readonly settled: readonly HashKey[];
}

/** What a part of the log did, to be committed with the position behind it. */
export interface ProjectionCommit extends ChangedRows {
  readonly partition: number;
  readonly from: RowsPosition;
  readonly to: Projection;
  /** Whether what ingress has written for an append that ended before `to.clockMs` goes: the log holds it by now, or never will. */
  readonly forgetsEnded: boolean;
}

/** The rows are not where the caller left them. Nothing was written. */
export class PositionTaken extends Error {
  override readonly name = 'PositionTaken';
}

/**
 * Commits what a part of the log did, and the position behind it: one statement, and so one transaction in one round trip. Of
 * two that fold the same part one commits; the other gets PositionTaken and has written nothing.
 * @throws PositionTaken, PostgresUnavailable (nothing is known: read the position again), InvariantBroken
 */
export async function saveProjection(postgres: Pick<Postgres, 'query'>, commit: ProjectionCommit): Promise<void> {
  const { partition, from, to } = commit;
  const values: unknown[] = [
    partition,
    from.nextOffset,
    from.blockParts,
    to.nextOffset,
    to.blockParts,
    to.clock.block < 0 ? null : to.clock.block,
    to.clock.seconds,
    to.clockMs,
  ];
  // The row of the partition is locked first, for every write asks whether it has moved. A second owner waits for it, finds
  // another position, and writes nothing.
  const steps = [`moved as (${movePositionSql})`];
  let name = 'save';
  for (const [index, write] of writesOf(commit).entries()) {
    if (write === undefined) continue;
    steps.push(`${write.as ?? `write_${index}`} as (${write.sql(values.length + 1)})`);
    values.push(...write.arrays);
    name += ` ${index}`;
  }
  const moved = await postgres.query<{ partition: number }>(
    `with ${steps.join(', ')} select partition from moved`,
    values,
    name,
  );
  if (moved.length === 0) {
    throw new PositionTaken(
      `the rows of partition ${partition} are not at ${from.nextOffset}: another owner has moved them`,
    );
  }
}

/** One kind of change. None reads what another one writes, but by its name: all of them see the tables as they were. */
interface Write {
  readonly arrays: readonly Buffer[];
  /** @param first the number of the first array among the values */
  readonly sql: (first: number) => string;
  readonly as?: string;
}

function writesOf(commit: ProjectionCommit): (Write | undefined)[] {
  const removed = commit.removed.map((orderHash) => ({ orderHash }));
  const hashes = writeHashes(commit.hashes);
  // The others have no row among those of the commit.
  const unfolded = commit.hashes.filter(({ state }) => state === 'UNFOLDED');
  return [
    remove('orders', shapes.orderHash, removed, ['order_hash']),
    insert('orders', shapes.order, commit.opened),
    update('orders', shapes.orderState, commit.changed, ['order_hash']),
    remove('funding', shapes.fundingKey, commit.fundingDropped, ['maker', 'token']),
    insert('funding', shapes.funding, commit.funding, ['maker', 'token']),
    hashes,
    hashes && { as: 'remembered', arrays: [], sql: () => countHashesSql },
    writeMakers(commit.makers, hashes !== undefined),
    unfolded.length === 0 ? undefined : countForOthers(commit.makers),
    insert('order_history', shapes.history, commit.history),
    remove('in_flight', shapes.hashKey, commit.submitted, ['order_hash', 'maker']),
    remove('cancelling', shapes.hashKey, commit.settled, ['order_hash', 'maker']),
    ...['in_flight', 'cancelling'].map((table): Write | undefined => {
      const sql = `delete from ${table} where partition = $1 and until_ms < $8 and ${hasMoved}`;
      return commit.forgetsEnded ? { arrays: [], sql: () => sql } : undefined;
    }),
  ];
}

const movePositionSql = `
  update projections set next_offset = $4, block_parts = $5, block_number = $6, block_timestamp = $7,
    clock_ms = $8
  where partition = $1 and next_offset = $2 and block_parts = $3 returning partition`;

const hasMoved = 'exists (select from moved)';

function writeHashes(rows: readonly HashRow[]): Write | undefined {
  const { list } = shapes.hash;
  const assignments = shapes.hash.assignments('excluded', ['order_hash', 'maker']);
  const writing = write(
    shapes.hash,
    rows,
    (given) => `insert into hashes (partition, ${list}) select $1, ${list} from ${given} where ${hasMoved}
      on conflict (order_hash, maker) do update set ${assignments} where excluded.state <> 'UNFOLDED'
      returning maker, xmax = 0 as is_new`,
  );
  return writing && { ...writing, as: 'written' };
}

/** A row that is inserted has no earlier writer: `xmax` is 0. */
const countHashesSql = 'select maker, count(*) as hashes from written where is_new group by maker';

function writeMakers(rows: readonly MakerRow[], areHashesCounted: boolean): Write | undefined {
  if (!areHashesCounted) return insert('makers', shapes.maker, rows, ['maker']);
  const { list } = shapes.maker;
  return write(
    shapes.maker,
    rows,
    (given) => `insert into makers (partition, ${list}, remembered)
      select $1, ${list}, coalesce(hashes, 0) from ${given} left join remembered using (maker) where ${hasMoved}
      on conflict (maker) do update set ${shapes.maker.assignments('excluded', ['maker'])},
        remembered = makers.remembered + excluded.remembered`,
  );
}

/** Counts the hashes of makers who have no row in this commit: those in quarantine, of whom nothing is folded. */
function countForOthers(rows: readonly MakerRow[]): Write {
  return {
    arrays: shapes.makerKey.toArrays(rows),
    sql: (first) => `update makers set remembered = makers.remembered + hashes from remembered
      where makers.maker = remembered.maker and makers.maker not in (select maker from ${shapes.makerKey.given(first)})`,
  };
}

/** @param key of rows that may be there, and are replaced then; left out, a row that is there breaks an invariant */
function insert<Row extends object>(
  table: string,
  shape: RowShape<Row>,
  rows: readonly Row[],
  key: readonly string[] = [],
): Write | undefined {
  const [column, value] = table === 'funding' ? ['', ''] : ['partition, ', '$1, '];
  const replacing = `on conflict (${key}) do update set ${shape.assignments('excluded', key)}`;
  return write(
    shape,
    rows,
    (given) => `insert into ${table} (${column}${shape.list}) select ${value}${shape.list} from ${given}
      where ${hasMoved} ${key.length === 0 ? '' : replacing}`,
  );
}

function update<Row extends object>(
  table: string,
  shape: RowShape<Row>,
  rows: readonly Row[],
  key: readonly string[],
): Write | undefined {
  return write(
    shape,
    rows,
    (given) => `update ${table} set ${shape.assignments('given', key)} from ${given} where ${isSame(table, key)}`,
  );
}

function remove<Row extends object>(
  table: string,
  shape: RowShape<Row>,
  rows: readonly Row[],
  key: readonly string[],
): Write | undefined {
  return write(shape, rows, (given) => `delete from ${table} using ${given} where ${isSame(table, key)}`);
}

function write<Row extends object>(
  shape: RowShape<Row>,
  rows: readonly Row[],
  sql: (given: string) => string,
): Write | undefined {
  if (rows.length === 0) return undefined;
  return { arrays: shape.toArrays(rows), sql: (first) => sql(shape.given(first)) };
}

function isSame(table: string, key: readonly string[]): string {
  return [...key.map((column) => `${table}.${column} = given.${column}`), hasMoved].join(' and ');
}
