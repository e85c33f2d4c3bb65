-- The projection of limit-orders.maker-events.v1. The projector alone writes here; a replay from offset zero makes the
-- same rows. The CHECKs repeat the invariants of the fold: a row that breaks one is a bug, and is refused.

-- One row per partition: how far the fold has come, in the same transaction as the rows it made.
create table projections (
  partition integer primary key check (partition >= 0),
  -- The offset of the next message to be folded.
  next_offset bigint not null default 0 check (next_offset >= 0),
  -- The newest block whose BlockProcessed was folded, and the partition's clock: the greatest block timestamp so far.
  block_number bigint check (block_number >= 0),
  block_timestamp bigint not null default 0 check (block_timestamp >= 0),
  -- The feed messages of the last commit that may not have been published yet.
  pending bytea
) with (fillfactor = 50);
-- It is written once and overwritten soon: compressing it costs more than it saves.
alter table projections alter column pending set storage external;

create table makers (
  maker bytea primary key check (octet_length(maker) = 20),
  partition integer not null check (partition >= 0),
  admission text not null check (admission in ('UNKNOWN', 'ADMITTED', 'SUSPENDED', 'REMOVED')),
  nonce numeric(78, 0) check (nonce >= 0),
  nonce_block bigint check (nonce_block >= 0),
  nonce_is_watched boolean not null,
  -- No order of the maker is due for anything before the partition's clock reaches this second. Null: nothing is.
  due_at_seconds bigint check (due_at_seconds >= 0),
  check ((nonce is null) = (nonce_block is null)),
  check (nonce is not null or not nonce_is_watched)
);
create index makers_due on makers (partition, due_at_seconds) where due_at_seconds is not null;

-- What the chain said of a maker's funds in one token; kept while an open order sells that token.
create table funding (
  maker bytea not null check (octet_length(maker) = 20),
  token bytea not null check (octet_length(token) = 20),
  balance numeric(78, 0) check (balance >= 0),
  balance_block bigint check (balance_block >= 0),
  allowance numeric(78, 0) check (allowance >= 0),
  allowance_block bigint check (allowance_block >= 0),
  open_orders integer not null check (open_orders > 0),
  primary key (maker, token),
  check ((balance is null) = (balance_block is null)),
  check ((allowance is null) = (allowance_block is null))
);

-- Open orders, and nothing else.
create table orders (
  order_hash bytea primary key check (octet_length(order_hash) = 32),
  maker bytea not null check (octet_length(maker) = 20),
  partition integer not null check (partition >= 0),
  accepted_offset bigint not null check (accepted_offset >= 0),
  accepted_at_ms bigint not null check (accepted_at_ms >= 0),
  expires_at_seconds bigint not null check (expires_at_seconds > 0),
  making_token bytea not null check (octet_length(making_token) = 20),
  making_amount numeric(78, 0) not null,
  remaining numeric(78, 0) not null check (remaining > 0),
  status text not null check (status in ('VALIDATING', 'ACTIVE', 'INACTIVE')),
  reason text check (reason in ('INSUFFICIENT_ALLOWANCE', 'INSUFFICIENT_BALANCE')),
  in_book boolean not null,
  -- The listed record up to its status: {"order":{…},"orderHash":"0x…","signature":"0x…"
  record_start text not null,
  check (remaining <= making_amount),
  check ((status = 'INACTIVE') = (reason is not null))
);
create index orders_of_maker on orders (maker, accepted_offset);

-- What happened to orders, for ever.
create table order_history (
  partition integer not null,
  log_offset bigint not null,
  order_hash bytea not null,
  maker bytea not null,
  happened text not null check (happened in ('OPENED', 'CHANGED', 'WITHHELD', 'REMOVED')),
  -- The order's state afterwards; for REMOVED the one it had last.
  status text not null check (status in ('VALIDATING', 'ACTIVE', 'INACTIVE')),
  -- Why it is INACTIVE, or why it was removed.
  reason text,
  remaining numeric(78, 0) not null check (remaining > 0),
  -- With OPENED only.
  expires_at_seconds bigint,
  -- One fact does the same thing to an order once.
  primary key (partition, log_offset, order_hash, happened),
  check ((happened = 'OPENED') = (expires_at_seconds is not null)),
  check (happened <> 'REMOVED' or coalesce(reason, '') in ('CANCELLED', 'CANCELLED_ONCHAIN', 'NONCE_CHANGED', 'FILLED', 'EXPIRED'))
);
-- A hash that was ever accepted is never accepted again; and the unexpired ones of a maker, which ingress must know.
create unique index order_history_accepted on order_history (maker, expires_at_seconds, order_hash)
  where happened = 'OPENED';
