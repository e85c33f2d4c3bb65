import type { Hex } from '@makerbook/contracts-primitives';
import type { Postgres } from './connect-postgres.js';
import {
  type CancelledHashRow,
  type FundingRow,
  type HistoryRow,
  type MakerRow,
  type OrderRow,
  type OrderStateRow,
  type Projection,
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
  readonly cancelledHashes: readonly CancelledHashRow[];
}

/** What a part of the log did, to be committed with the offset behind it. */
export interface ProjectionCommit extends ChangedRows, Omit<Projection, 'nextOffset'> {
  readonly partition: number;
  /** As read or committed last; it is one more then. */
  readonly version: bigint;
  readonly from: bigint;
  readonly to: bigint;
}

/** The rows are not where the caller left them, or another owner has taken the partition. Nothing was written. */
export class PositionTaken extends Error {
  override readonly name = 'PositionTaken';
}

/**
 * Commits what a part of the log did, and the offset behind it: one statement, and so one transaction in one round trip. Of
 * two that fold the same part one commits; the other gets PositionTaken and has written nothing.
 * @throws PositionTaken, PostgresUnavailable (nothing is known: read the position again), InvariantBroken
 */
export async function saveProjection(postgres: Pick<Postgres, 'query'>, commit: ProjectionCommit): Promise<void> {
  const { partition, from, to, clock, version, isBlockBegun } = commit;
  const values: unknown[] = [
    partition,
    from,
    version,
    to,
    clock.block < 0 ? null : clock.block,
    clock.seconds,
    isBlockBegun,
  ];
  // The row of the partition is locked first, for every write asks whether it has moved. A second owner waits for it, finds
  // another position, and writes nothing.
  const steps = [`moved as (${movePositionSql})`];
  let name = 'save';
  for (const [index, write] of writesOf(commit).entries()) {
    if (write === undefined) continue;
    steps.push(`write_${index} as (${write.sql(values.length + 1)})`);
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
      `partition ${partition} is not at ${from}, version ${version}: another owner took it, or the database is another one`,
    );
  }
}

/** Throws what the commit would, and writes nothing. */
export async function tryProjection(postgres: Postgres, commit: ProjectionCommit): Promise<void> {
  const undo = new Error('undo');
  try {
    await postgres.transaction(async (query) => {
      await saveProjection({ query }, commit);
      throw undo;
    });
  } catch (error) {
    if (error !== undo) throw error;
  }
}

/** One kind of change. None reads what another one writes: all of them see the tables as they were. */
interface Write {
  readonly arrays: readonly Buffer[];
  /** @param first the number of the first array among the values */
  readonly sql: (first: number) => string;
}

function writesOf(commit: ProjectionCommit): (Write | undefined)[] {
  const removed = commit.removed.map((orderHash) => ({ orderHash }));
  return [
    remove('orders', shapes.orderHash, removed, ['order_hash']),
    insert('orders', shapes.order, commit.opened),
    update('orders', shapes.orderState, commit.changed, ['order_hash']),
    remove('funding', shapes.fundingKey, commit.fundingDropped, ['maker', 'token']),
    insert('funding', shapes.funding, commit.funding, ['maker', 'token']),
    insert('makers', shapes.maker, commit.makers, ['maker']),
    insert('order_history', shapes.history, commit.history),
    insert('cancelled_hashes', shapes.cancelledHash, commit.cancelledHashes),
  ];
}

/** An earlier build counts messages in `next_index`; the column can go once none of it runs any more. */
const movePositionSql = `
  update projections set next_offset = $4, next_index = 0, block_number = $5, block_timestamp = $6,
    block_begun = $7, version = version + 1
  where partition = $1 and next_offset = $2 and version = $3 returning partition`;

const hasMoved = 'exists (select from moved)';

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
