import type { Hex } from '@makerbook/contracts-primitives';
import { byteaOf, type Postgres } from './connect-postgres.js';
import { type CancelledHashRow, PositionTaken, type ProjectionCommit, type Quarantine } from './project-partition.js';

/**
 * Commits what a part of the log did, and the place behind it: one statement, and so one transaction in one round trip. Of
 * two that fold the same part one commits; the other gets PositionTaken and has written nothing.
 * @throws PositionTaken, PostgresUnavailable (nothing is known: read the position again), InvariantBroken
 */
export async function saveProjection(postgres: Pick<Postgres, 'query'>, commit: ProjectionCommit): Promise<void> {
  const { partition, from, to, clock, version, isBlockBegun } = commit;
  const parts = partsOf(commit).filter(({ rows }) => rows.length > 0);
  const steps = parts.map(({ name, sql }, index) => `${name} as (${sql(`$${index + 11}`)})`);
  // The row of the partition is locked first, for every part asks whether it has moved. A second owner waits for it, finds
  // another position, and writes nothing.
  const moved = await postgres.query<{ partition: number }>(
    `with ${[`moved as (${movePositionSql})`, ...steps].join(', ')} select partition from moved`,
    [
      partition,
      from.offset,
      from.index,
      version,
      to.offset,
      to.index,
      clock.term,
      clock.block < 0 ? null : clock.block,
      clock.seconds,
      isBlockBegun,
      ...parts.map(({ rows }) => JSON.stringify(rows)),
    ],
  );
  if (moved.length === 0) {
    throw new PositionTaken(
      `partition ${partition} is not at ${from.offset}/${from.index}, version ${version}: another owner took it, or the database is another one`,
    );
  }
}

/** One kind of row. No part reads what another one writes: all of them see the tables as they were. */
interface Part {
  readonly name: string;
  readonly rows: readonly object[];
  /** @param rows the place of the rows as JSON among the values */
  readonly sql: (rows: string) => string;
}

function partsOf(commit: ProjectionCommit): Part[] {
  return [
    { name: 'removed', sql: removeOrders, rows: commit.removed.map((hash) => ({ order_hash: byteaOf(hash) })) },
    { name: 'opened', sql: openOrders, rows: commit.opened.map(orderToJson) },
    { name: 'changed', sql: changeOrders, rows: commit.changed.map(orderStateToJson) },
    { name: 'dropped', sql: dropFunding, rows: commit.fundingDropped.map(fundingKeyToJson) },
    { name: 'funded', sql: saveFunding, rows: commit.funding.map(fundingToJson) },
    { name: 'known', sql: saveMakers, rows: commit.makers.map(makerToJson) },
    { name: 'quarantined', sql: quarantineMakers, rows: commit.quarantined?.map(quarantinedToJson) ?? [] },
    {
      name: 'withdrawn',
      sql: withdrawOrders,
      rows: commit.withdrawn?.map((hash) => ({ order_hash: byteaOf(hash) })) ?? [],
    },
    { name: 'happened', sql: addHistory, rows: commit.history.map(historyToJson) },
    { name: 'cancelled', sql: addCancelledHashes, rows: commit.cancelledHashes?.map(cancelledHashToJson) ?? [] },
  ];
}

const movePositionSql = `
  update projections set next_offset = $5, next_index = $6, term = $7, block_number = $8, block_timestamp = $9,
    block_begun = $10, version = version + 1
  where partition = $1 and next_offset = $2 and next_index = $3 and version = $4 returning partition`;

const hasMoved = 'exists (select from moved)';

const removeOrders = (rows: string) => `
  delete from orders using json_to_recordset(${rows}) as gone (order_hash bytea)
  where orders.order_hash = gone.order_hash and ${hasMoved}`;

const openOrders = (rows: string) => `
  insert into orders (order_hash, maker, partition, accepted_offset, accepted_at_ms, expires_at_seconds, making_token,
    making_amount, remaining, is_observed, status, reason, in_book, record_start)
  select order_hash, maker, $1, accepted_offset, accepted_at_ms, expires_at_seconds, making_token,
    making_amount, remaining, is_observed, status, reason, in_book, record_start
  from json_to_recordset(${rows}) as opened (order_hash bytea, maker bytea, accepted_offset bigint,
    accepted_at_ms bigint, expires_at_seconds bigint, making_token bytea, making_amount numeric, remaining numeric,
    is_observed boolean, status text, reason text, in_book boolean, record_start text)
  where ${hasMoved}`;

const changeOrders = (rows: string) => `
  update orders set remaining = changed.remaining, is_observed = changed.is_observed, status = changed.status,
    reason = changed.reason, in_book = changed.in_book
  from json_to_recordset(${rows}) as changed (order_hash bytea, remaining numeric, is_observed boolean, status text,
    reason text, in_book boolean)
  where orders.order_hash = changed.order_hash and ${hasMoved}`;

const dropFunding = (rows: string) => `
  delete from funding using json_to_recordset(${rows}) as dropped (maker bytea, token bytea)
  where funding.maker = dropped.maker and funding.token = dropped.token and ${hasMoved}`;

const saveFunding = (rows: string) => `
  insert into funding (maker, token, balance, allowance, block, open_orders)
  select * from json_to_recordset(${rows}) as saved (maker bytea, token bytea, balance numeric, allowance numeric,
    block bigint, open_orders integer)
  where ${hasMoved}
  on conflict (maker, token) do update set balance = excluded.balance, allowance = excluded.allowance,
    block = excluded.block, open_orders = excluded.open_orders`;

const saveMakers = (rows: string) => `
  insert into makers (maker, partition, admission, nonce, nonce_block, due_at_seconds, quarantined_offset,
    quarantine_reason, quarantine_clock)
  select maker, $1, admission, nonce, nonce_block, due_at_seconds, quarantined_offset, quarantine_reason, quarantine_clock
  from json_to_recordset(${rows}) as saved (maker bytea, admission text, nonce numeric, nonce_block bigint,
    due_at_seconds bigint, quarantined_offset bigint, quarantine_reason text, quarantine_clock jsonb)
  where ${hasMoved}
  on conflict (maker) do update set admission = excluded.admission, nonce = excluded.nonce,
    nonce_block = excluded.nonce_block, due_at_seconds = excluded.due_at_seconds,
    quarantined_offset = excluded.quarantined_offset, quarantine_reason = excluded.quarantine_reason,
    quarantine_clock = excluded.quarantine_clock`;

const quarantineMakers = (rows: string) => `
  insert into makers (maker, partition, admission, quarantined_offset, quarantine_reason, quarantine_clock)
  select maker, $1, 'UNKNOWN', quarantined_offset, quarantine_reason, quarantine_clock
  from json_to_recordset(${rows}) as quarantined (maker bytea, quarantined_offset bigint, quarantine_reason text,
    quarantine_clock jsonb)
  where ${hasMoved}
  on conflict (maker) do update set due_at_seconds = null, quarantined_offset = excluded.quarantined_offset,
    quarantine_reason = excluded.quarantine_reason, quarantine_clock = excluded.quarantine_clock`;

const withdrawOrders = (rows: string) => `
  update orders set in_book = false from json_to_recordset(${rows}) as withdrawn (order_hash bytea)
  where orders.order_hash = withdrawn.order_hash and ${hasMoved}`;

const addHistory = (rows: string) => `
  insert into order_history (partition, log_offset, order_hash, maker, happened, status, reason, remaining,
    expires_at_seconds)
  select $1, log_offset, order_hash, maker, happened, status, reason, remaining, expires_at_seconds
  from json_to_recordset(${rows}) as added (log_offset bigint, order_hash bytea, maker bytea, happened text,
    status text, reason text, remaining numeric, expires_at_seconds bigint)
  where ${hasMoved}`;

const addCancelledHashes = (rows: string) => `
  insert into cancelled_hashes (maker, expires_at_seconds, order_hash, partition, log_offset)
  select maker, expires_at_seconds, order_hash, $1, log_offset
  from json_to_recordset(${rows}) as added (maker bytea, expires_at_seconds bigint, order_hash bytea, log_offset bigint)
  where ${hasMoved}`;

function orderStateToJson(row: ProjectionCommit['changed'][number]): object {
  const { orderHash, remaining, isObserved, status, reason, inBook } = row;
  return { order_hash: byteaOf(orderHash), remaining, is_observed: isObserved, status, reason, in_book: inBook };
}

function orderToJson(row: ProjectionCommit['opened'][number]): object {
  return {
    ...orderStateToJson(row),
    maker: byteaOf(row.maker),
    accepted_offset: String(row.acceptedOffset),
    accepted_at_ms: row.acceptedAtMs,
    expires_at_seconds: row.expiresAtSeconds,
    making_token: byteaOf(row.makingToken),
    making_amount: row.makingAmount,
    record_start: row.recordStart,
  };
}

function fundingKeyToJson({ maker, token }: ProjectionCommit['fundingDropped'][number]): object {
  return { maker: byteaOf(maker), token: byteaOf(token) };
}

function fundingToJson(row: ProjectionCommit['funding'][number]): object {
  const { balance, allowance, block, openOrders } = row;
  return { ...fundingKeyToJson(row), balance, allowance, block, open_orders: openOrders };
}

function makerToJson({ maker, quarantine, ...row }: ProjectionCommit['makers'][number]): object {
  return {
    maker: byteaOf(maker),
    admission: row.admission,
    nonce: row.nonce,
    nonce_block: row.nonceBlock,
    due_at_seconds: row.dueAtSeconds,
    ...(quarantine === undefined ? {} : quarantineToJson(quarantine)),
  };
}

function quarantinedToJson({ maker, quarantine }: { readonly maker: Hex; readonly quarantine: Quarantine }): object {
  return { maker: byteaOf(maker), ...quarantineToJson(quarantine) };
}

function quarantineToJson({ offset, reason, clock }: Quarantine): object {
  return { quarantined_offset: String(offset), quarantine_reason: reason, quarantine_clock: clock };
}

function cancelledHashToJson(row: CancelledHashRow): object {
  const { maker, orderHash, expiresAtSeconds, offset } = row;
  return {
    maker: byteaOf(maker),
    expires_at_seconds: expiresAtSeconds,
    order_hash: byteaOf(orderHash),
    log_offset: String(offset),
  };
}

function historyToJson(row: ProjectionCommit['history'][number]): object {
  return {
    log_offset: String(row.offset),
    order_hash: byteaOf(row.orderHash),
    maker: byteaOf(row.maker),
    happened: row.happened,
    status: row.status,
    reason: row.reason,
    remaining: row.remaining,
    expires_at_seconds: row.expiresAtSeconds,
  };
}
