import type { Hex } from '@makerbook/contracts-primitives';
import type { Postgres, RowShape, RowsOfPartitions } from '@makerbook/postgres';
import {
  type FillRow,
  type FundingRow,
  type HashKey,
  type HashRow,
  type HistoryRow,
  type MakerRow,
  type MovedPosition,
  type OrderRow,
  type OrderStateRow,
  type Projection,
  type RowsPosition,
  shapes,
} from '@makerbook/postgres';

/** The rows that a part of the log changed; each is named once. */
export interface ChangedRows {
  readonly makers: readonly MakerRow[];
  readonly funding: readonly FundingRow[];
  readonly fundingDropped: readonly Pick<FundingRow, 'maker' | 'token'>[];
  readonly opened: readonly OrderRow[];
  readonly changed: readonly OrderStateRow[];
  readonly removed: readonly Hex[];
  readonly history: readonly HistoryRow[];
  /** May name a fill that is stored: the first one stays. */
  readonly fills: readonly FillRow[];
  /** An UNFOLDED row is written only if its hash is unknown. */
  readonly hashes: readonly HashRow[];
  /** Orders that the log has, whatever became of them: they are no longer in flight. May name one several times. */
  readonly submitted: readonly HashKey[];
  /** Cancellations that the log has, and removed orders: they are no longer in flight. May name one several times. */
  readonly settled: readonly HashKey[];
}

/** The changes by a part of the log, with the position after it. */
export interface ProjectionCommit extends ChangedRows {
  readonly partition: number;
  readonly from: RowsPosition;
  readonly to: Projection;
  /** True deletes ingress's rows for appends that ended before `to.clockMs`: the log has the facts, or never will. */
  readonly forgetsEnded: boolean;
}

/** The rows of the partition are not where the caller left them. Nothing was written. */
export class PositionTaken extends Error {
  override readonly name = 'PositionTaken';
}

/**
 * Commits parts of the log in some partitions, each with the position after it, in one statement: one transaction, one
 * round trip.
 * @param commits in the order of their partitions, at most one of each: so two statements never wait for each other
 * @returns for each commit why it has written nothing; undefined if it has written
 * @throws PostgresUnavailable (the outcome is unknown), InvariantBroken (none has written anything)
 */
export async function saveProjections(
  postgres: Pick<Postgres, 'query'>,
  commits: readonly ProjectionCommit[],
): Promise<readonly (PositionTaken | undefined)[]> {
  const values: unknown[] = shapes.position.toArrays(commits.map(positionOf));
  // Lock the rows of the partitions first: every write asks whether its partition has moved. A second owner waits for
  // the lock, finds another position, and writes nothing.
  const steps = [`moved as (${movePositionsSql(shapes.position.given(1))})`];
  let name = 'save';
  for (const [index, write] of writesOf(commits).entries()) {
    if (write === undefined) continue;
    steps.push(`${write.as ?? `write_${index}`} as (${write.sql(values.length + 1)})`);
    values.push(...write.arrays);
    name += ` ${index}`;
  }
  const sql = `with ${steps.join(', ')} select partition from moved`;
  const moved = await postgres.query<{ partition: number }>(sql, values, name);
  const partitions = new Set(moved.map(({ partition }) => partition));
  return commits.map(({ partition, from }) => {
    if (partitions.has(partition)) return undefined;
    return new PositionTaken(
      `the rows of partition ${partition} are not at ${from.nextOffset}: another owner has moved them`,
    );
  });
}

function positionOf({ partition, from, to, forgetsEnded }: ProjectionCommit): MovedPosition {
  return {
    partition,
    fromOffset: from.nextOffset,
    fromParts: from.blockParts,
    nextOffset: to.nextOffset,
    blockParts: to.blockParts,
    blockNumber: to.clock.block < 0 ? null : to.clock.block,
    blockTimestamp: to.clock.seconds,
    clockMs: to.clockMs,
    bookEntries: to.book.entries,
    bookHash: to.book.hash,
    forgetsBeforeMs: forgetsEnded ? to.clockMs : null,
  };
}

const movePositionsSql = (given: string) => `
  update projections as p set next_offset = given.next_offset, block_parts = given.block_parts,
    block_number = given.block_number, block_timestamp = given.block_timestamp, clock_ms = given.clock_ms,
    book_entries = given.book_entries, book_hash = given.book_hash
  from ${given}
  where p.partition = given.partition and p.next_offset = given.from_offset and p.block_parts = given.from_parts
  returning p.partition, given.forgets_before_ms`;

const hasMoved = 'given.partition in (select partition from moved)';

/** One kind of change. Each change sees the tables as they were, so it uses another's result only by its name. */
interface Write {
  readonly arrays: readonly Buffer[];
  /** @param first the number of the first array among the values */
  readonly sql: (first: number) => string;
  readonly as?: string;
}

function writesOf(commits: readonly ProjectionCommit[]): (Write | undefined)[] {
  const take = <Kind extends keyof ChangedRows>(kind: Kind) => {
    const rowsOf = (commit: ProjectionCommit): readonly ChangedRows[Kind][number][] => commit[kind];
    const partitions = commits.flatMap((commit) => rowsOf(commit).map(() => commit.partition));
    return { rows: commits.flatMap(rowsOf), partitions };
  };
  const { order, orderState, orderHash, funding, fundingKey, history, hashKey } = shapes;
  const makers = take('makers');
  const hashRows = take('hashes');
  const hashes = writeHashes(hashRows);
  // Only makers with UNFOLDED hashes may have no row in the commits.
  const hasUnfolded = hashRows.rows.some(({ state }) => state === 'UNFOLDED');
  const removed = take('removed');
  const forgetsEnded = commits.some((commit) => commit.forgetsEnded);
  return [
    remove('orders', orderHash, { ...removed, rows: removed.rows.map((hash) => ({ orderHash: hash })) }, [
      'order_hash',
    ]),
    insert('orders', order, take('opened')),
    update('orders', orderState, take('changed'), ['order_hash']),
    remove('funding', fundingKey, take('fundingDropped'), ['maker', 'token']),
    insert('funding', funding, take('funding'), ['maker', 'token']),
    hashes,
    hashes && { as: 'remembered', arrays: [], sql: () => countHashesSql },
    writeMakers(makers, hashes !== undefined),
    hasUnfolded ? countForOthers(makers) : undefined,
    insert('order_history', history, take('history')),
    writeFills(take('fills')),
    remove('in_flight', hashKey, take('submitted'), ['order_hash', 'maker']),
    remove('cancelling', hashKey, take('settled'), ['order_hash', 'maker']),
    ...['in_flight', 'cancelling'].map((table) => (forgetsEnded ? forgetEnded(table) : undefined)),
  ];
}

function forgetEnded(table: string): Write {
  const sql = `delete from ${table} using moved where ${table}.partition = moved.partition and until_ms < forgets_before_ms`;
  return { arrays: [], sql: () => sql };
}

function writeFills(rows: RowsOfPartitions<FillRow>): Write | undefined {
  return write(
    shapes.fill,
    rows,
    (given, list) => `insert into fills (${list}) select ${list} from ${given} where ${hasMoved}
      order by log_offset on conflict do nothing`,
  );
}

function writeHashes(rows: RowsOfPartitions<HashRow>): Write | undefined {
  const key = ['order_hash', 'maker'];
  const assignments = shapes.hash.assignments('excluded', key);
  const writing = write(
    shapes.hash,
    rows,
    (given, list) => `insert into hashes (${list}) select ${list} from ${given} where ${hasMoved}
      on conflict (${key}) do update set ${assignments} where excluded.state <> 'UNFOLDED'
      returning maker, xmax = 0 as is_new`,
  );
  return writing && { ...writing, as: 'written' };
}

/** Counts the new hashes. An inserted row has no earlier writer: its `xmax` is 0. */
const countHashesSql = 'select maker, count(*) as hashes from written where is_new group by maker';

function writeMakers(rows: RowsOfPartitions<MakerRow>, areHashesCounted: boolean): Write | undefined {
  if (!areHashesCounted) return insert('makers', shapes.maker, rows, ['maker']);
  return write(
    shapes.maker,
    rows,
    (given, list) => `insert into makers (${list}, remembered)
      select ${list}, coalesce(hashes, 0) from ${given} left join remembered using (maker) where ${hasMoved}
      on conflict (maker) do update set ${shapes.maker.assignments('excluded', ['maker'])},
        remembered = makers.remembered + excluded.remembered`,
  );
}

/** Counts the hashes of makers who have no row in these commits: makers in quarantine, for whom nothing is folded. */
function countForOthers({ rows }: RowsOfPartitions<MakerRow>): Write {
  return {
    arrays: shapes.makerKey.toArrays(rows),
    sql: (first) => `update makers set remembered = makers.remembered + hashes from remembered
      where makers.maker = remembered.maker and makers.maker not in (select maker from ${shapes.makerKey.given(first)})`,
  };
}

/** @param key rows with the same key are replaced; without a key, a row that is there breaks an invariant */
function insert<Row extends object>(
  table: string,
  shape: RowShape<Row>,
  rows: RowsOfPartitions<Row>,
  key: readonly string[] = [],
): Write | undefined {
  const replacing = `on conflict (${key}) do update set ${shape.assignments('excluded', key)}`;
  return write(shape, rows, (given, all) => {
    const list = table === 'funding' ? shape.list : all;
    return `insert into ${table} (${list}) select ${list} from ${given}
      where ${hasMoved} ${key.length === 0 ? '' : replacing}`;
  });
}

function update<Row extends object>(
  table: string,
  shape: RowShape<Row>,
  rows: RowsOfPartitions<Row>,
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
  rows: RowsOfPartitions<Row>,
  key: readonly string[],
): Write | undefined {
  return write(shape, rows, (given) => `delete from ${table} using ${given} where ${isSame(table, key)}`);
}

/** @param sql makes the statement from the rows as a table and the names of its columns, `partition` among them */
function write<Row extends object>(
  shape: RowShape<Row>,
  rows: RowsOfPartitions<Row>,
  sql: (given: string, list: string) => string,
): Write | undefined {
  if (rows.rows.length === 0) return undefined;
  const { inPartition } = shape;
  return { arrays: shape.toArraysWithPartition(rows), sql: (first) => sql(inPartition.given(first), inPartition.list) };
}

function isSame(table: string, key: readonly string[]): string {
  return [...key.map((column) => `${table}.${column} = given.${column}`), hasMoved].join(' and ');
}
