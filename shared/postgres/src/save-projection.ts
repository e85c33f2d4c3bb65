import type { Hex } from '@makerbook/contracts-events';
import { byteaOf, type Postgres } from './connect-postgres.js';
import { type CancelledHashRow, PositionTaken, type ProjectionCommit } from './project-partition.js';

/**
 * Commits what a stretch of the log did, and the position behind it: one statement, and so one transaction in one round
 * trip. Of two that fold the same stretch, or the same slice of a block, one commits; the other gets PositionTaken and
 * has written nothing.
 * @throws PositionTaken, PostgresUnavailable (nothing is known: read the position again), InvariantBroken
 */
export async function saveProjection(postgres: Postgres, commit: ProjectionCommit): Promise<void> {
  const { partition, fromOffset, fromSlices = 0, nextOffset, slices = 0, blockNumber, clockSeconds, pending } = commit;
  const parts = partsOf(commit).filter(({ rows }) => rows.length > 0);
  const isMove = nextOffset > fromOffset || (nextOffset === fromOffset && slices > fromSlices);
  if (parts.length > 0 && !isMove) throw new Error(`rows without a move from ${fromOffset} could be committed twice`);
  const steps = parts.map(({ name, sql }, index) => `${name} as (${sql(`$${index + 9}`)})`);
  // The row of the partition is locked first, for every part asks whether it has moved. Who comes second waits for it,
  // finds another position, and writes nothing.
  const moved = await postgres.query<{ partition: number }>(
    `with ${[`moved as (${movePositionSql})`, ...steps].join(', ')} select partition from moved`,
    [
      partition,
      fromOffset,
      fromSlices,
      nextOffset,
      slices,
      blockNumber ?? null,
      clockSeconds,
      pending ?? null,
      ...parts.map(({ rows }) => JSON.stringify(rows)),
    ],
  );
  if (moved.length === 0) {
    const at = fromSlices === 0 ? `${fromOffset}` : `slice ${fromSlices} of ${fromOffset}`;
    throw new PositionTaken(`partition ${partition} does not stand at ${at}: another process owns it`);
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
    { name: 'halted', sql: haltMakers, rows: commit.halted?.map(haltToJson) ?? [] },
    {
      name: 'withheld',
      sql: withholdOrders,
      rows: commit.withheld?.map((hash) => ({ order_hash: byteaOf(hash) })) ?? [],
    },
    { name: 'happened', sql: addHistory, rows: commit.history.map(historyToJson) },
    { name: 'cancelled', sql: addCancelledHashes, rows: commit.cancelledHashes?.map(cancelledHashToJson) ?? [] },
  ];
}

const movePositionSql = `
  update projections set next_offset = $4, slices = $5, block_number = $6, block_timestamp = $7, pending = $8
  where partition = $1 and next_offset = $2 and slices = $3 returning partition`;

const hasMoved = 'exists (select from moved)';

const removeOrders = (rows: string) => `
  delete from orders using json_to_recordset(${rows}) as gone (order_hash bytea)
  where orders.order_hash = gone.order_hash and ${hasMoved}`;

const openOrders = (rows: string) => `
  insert into orders (order_hash, maker, partition, accepted_offset, accepted_at_ms, expires_at_seconds, making_token,
    making_amount, remaining, observed_block, status, reason, in_book, record_start)
  select order_hash, maker, $1, accepted_offset, accepted_at_ms, expires_at_seconds, making_token,
    making_amount, remaining, observed_block, status, reason, in_book, record_start
  from json_to_recordset(${rows}) as opened (order_hash bytea, maker bytea, accepted_offset bigint,
    accepted_at_ms bigint, expires_at_seconds bigint, making_token bytea, making_amount numeric, remaining numeric,
    observed_block bigint, status text, reason text, in_book boolean, record_start text)
  where ${hasMoved}`;

const changeOrders = (rows: string) => `
  update orders set remaining = changed.remaining, observed_block = changed.observed_block, status = changed.status,
    reason = changed.reason, in_book = changed.in_book
  from json_to_recordset(${rows}) as changed (order_hash bytea, remaining numeric, observed_block bigint, status text,
    reason text, in_book boolean)
  where orders.order_hash = changed.order_hash and ${hasMoved}`;

const dropFunding = (rows: string) => `
  delete from funding using json_to_recordset(${rows}) as dropped (maker bytea, token bytea)
  where funding.maker = dropped.maker and funding.token = dropped.token and ${hasMoved}`;

const saveFunding = (rows: string) => `
  insert into funding (maker, token, balance, balance_block, allowance, allowance_block, open_orders)
  select * from json_to_recordset(${rows}) as saved (maker bytea, token bytea, balance numeric, balance_block bigint,
    allowance numeric, allowance_block bigint, open_orders integer)
  where ${hasMoved}
  on conflict (maker, token) do update set balance = excluded.balance, balance_block = excluded.balance_block,
    allowance = excluded.allowance, allowance_block = excluded.allowance_block, open_orders = excluded.open_orders`;

const saveMakers = (rows: string) => `
  insert into makers (maker, partition, admission, nonce, nonce_block, nonce_is_watched, due_at_seconds, halted_offset)
  select maker, $1, admission, nonce, nonce_block, nonce_is_watched, due_at_seconds, halted_offset
  from json_to_recordset(${rows}) as saved (maker bytea, admission text, nonce numeric, nonce_block bigint,
    nonce_is_watched boolean, due_at_seconds bigint, halted_offset bigint)
  where ${hasMoved}
  on conflict (maker) do update set admission = excluded.admission, nonce = excluded.nonce,
    nonce_block = excluded.nonce_block, nonce_is_watched = excluded.nonce_is_watched,
    due_at_seconds = excluded.due_at_seconds, halted_offset = excluded.halted_offset`;

const haltMakers = (rows: string) => `
  update makers set due_at_seconds = null, halted_offset = coalesce(makers.halted_offset, halted.halted_offset)
  from json_to_recordset(${rows}) as halted (maker bytea, halted_offset bigint)
  where makers.maker = halted.maker and ${hasMoved}`;

const withholdOrders = (rows: string) => `
  update orders set in_book = false from json_to_recordset(${rows}) as withheld (order_hash bytea)
  where orders.order_hash = withheld.order_hash and ${hasMoved}`;

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
  const { orderHash, remaining, observedBlock, status, reason, inBook } = row;
  return { order_hash: byteaOf(orderHash), remaining, observed_block: observedBlock, status, reason, in_book: inBook };
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
  return {
    ...fundingKeyToJson(row),
    balance: row.balance,
    balance_block: row.balanceBlock,
    allowance: row.allowance,
    allowance_block: row.allowanceBlock,
    open_orders: row.openOrders,
  };
}

function makerToJson(row: ProjectionCommit['makers'][number]): object {
  return {
    maker: byteaOf(row.maker),
    admission: row.admission,
    nonce: row.nonce,
    nonce_block: row.nonceBlock,
    nonce_is_watched: row.nonceIsWatched,
    due_at_seconds: row.dueAtSeconds,
    halted_offset: row.haltedOffset == null ? null : String(row.haltedOffset),
  };
}

function haltToJson({ maker, offset }: { readonly maker: Hex; readonly offset: bigint }): object {
  return { maker: byteaOf(maker), halted_offset: String(offset) };
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
