-- The read model: a projection of limit-orders.maker-events.v1, which a replay from offset zero makes again, and the few rows
-- that ingress writes while an append is in flight. The CHECKs repeat the invariants of the fold: a row that breaks one is
-- a bug, and is refused.

-- One row per partition: how far the fold has come, in the same transaction as the rows it made.
create table projections (
  partition integer primary key check (partition >= 0),
  -- The offset of the next fact to be folded.
  next_offset bigint not null default 0 check (next_offset >= 0),
  -- The newest block whose BlockProcessed was folded, and the partition's clock: the greatest block timestamp so far.
  block_number bigint check (block_number >= 0),
  block_timestamp bigint not null default 0 check (block_timestamp >= 0),
  -- When the record of that block was written to the log, by the record's own time; 0 before the first.
  clock_ms bigint not null default 0 check (clock_ms >= 0),
  next_index integer not null default 0 check (next_index >= 0),
  block_begun boolean not null default false,
  version bigint not null default 0 check (version >= 0),
  -- The history of facts before this offset is pruned.
  history_from bigint not null default 0 check (history_from >= 0),
  check (block_begun or next_index = 0)
) with (fillfactor = 50);

create table makers (
  maker bytea primary key check (octet_length(maker) = 20),
  partition integer not null check (partition >= 0),
  admission text not null check (admission in ('UNKNOWN', 'ADMITTED', 'SUSPENDED', 'REMOVED')),
  -- The maker's own limits, by the names of the facts; what is not there is as the service has it.
  limits jsonb not null default '{}' check (jsonb_typeof(limits) = 'object'),
  nonce numeric(78, 0) check (nonce >= 0),
  nonce_block bigint check (nonce_block >= 0),
  -- No order of the maker is due for anything before the partition's clock reaches this second. Null: nothing is.
  due_at_seconds bigint check (due_at_seconds >= 0),
  -- The offset of the fact that last changed the maker's list; 0 before the first.
  list_version bigint not null default 0 check (list_version >= 0),
  -- Rows of `hashes` that the fold has made for the maker and that are not pruned.
  remembered bigint not null default 0,
  -- A maker that could not be folded: from which fact on, why, and the partition's clock before that fact. Its orders are out
  -- of the book, and nothing of it is due. The facts are folded when an operator lifts the quarantine.
  quarantined_offset bigint check (quarantined_offset >= 0),
  quarantine_reason text,
  quarantine_clock jsonb,
  check ((nonce is null) = (nonce_block is null)),
  check ((quarantined_offset is null) = (quarantine_reason is null)),
  check ((quarantined_offset is null) = (quarantine_clock is null)),
  check (quarantined_offset is null or due_at_seconds is null)
);
create index makers_due on makers (partition, due_at_seconds) where due_at_seconds is not null;
create index makers_quarantined on makers (partition) where quarantined_offset is not null;

-- What the chain said of a maker's funds in one token, at one block; kept while an open order sells that token.
create table funding (
  maker bytea not null check (octet_length(maker) = 20),
  token bytea not null check (octet_length(token) = 20),
  balance numeric(78, 0) check (balance >= 0),
  allowance numeric(78, 0) check (allowance >= 0),
  block bigint check (block >= 0),
  open_orders integer not null check (open_orders > 0),
  primary key (maker, token),
  check ((balance is null) = (block is null)),
  check ((allowance is null) = (block is null))
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
  -- An order is VALIDATING until it was read on the chain.
  is_observed boolean not null,
  status text not null check (status in ('VALIDATING', 'ACTIVE', 'INACTIVE')),
  reason text check (reason in ('INSUFFICIENT_ALLOWANCE', 'INSUFFICIENT_BALANCE')),
  in_book boolean not null,
  -- The listed record up to its status: {"order":{…},"orderHash":"0x…","signature":"0x…"
  record_start text not null,
  check (remaining <= making_amount),
  check ((status = 'INACTIVE') = (reason is not null)),
  check (is_observed or status = 'VALIDATING')
);
create index orders_of_maker on orders (maker, accepted_offset);

-- What happened to orders.
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
create unique index order_history_accepted on order_history (maker, expires_at_seconds, order_hash)
  where happened = 'OPENED';

create table cancelled_hashes (
  maker bytea not null check (octet_length(maker) = 20),
  expires_at_seconds bigint not null check (expires_at_seconds >= 0),
  order_hash bytea not null check (octet_length(order_hash) = 32),
  partition integer not null check (partition >= 0),
  -- Where the first cancellation stands.
  log_offset bigint not null check (log_offset >= 0),
  primary key (maker, expires_at_seconds, order_hash)
);

-- Every hash that a request has placed, or that the fold has seen, until a day after its order has expired, or until the
-- maker's nonce on the chain has passed the order's. A hash that has a row is not accepted again.
--   PENDING    placed by a request; the fold has not seen it yet, or its maker is in quarantine
--   OPEN       the order is open
--   CLOSED     the order was open and is not any more
--   CANCELLED  its maker cancelled it before it was accepted: should the order still come, it is removed at once
-- Ingress makes PENDING rows and marks rows as being cancelled; everything else is the fold's.
create table hashes (
  order_hash bytea not null check (octet_length(order_hash) = 32),
  -- Anybody may sign a cancellation of another maker's hash: a row is of a hash and a maker.
  maker bytea not null check (octet_length(maker) = 20),
  partition integer not null check (partition >= 0),
  state text not null check (state in ('PENDING', 'OPEN', 'CLOSED', 'CANCELLED')),
  -- Unknown of a hash that was cancelled before its order came.
  salt numeric(78, 0) check (salt >= 0),
  nonce numeric(78, 0) check (nonce >= 0),
  expires_at_seconds bigint not null check (expires_at_seconds >= 0),
  -- Its cancellation is on its way into the log: it does not count as open.
  is_cancelling boolean not null default false,
  -- When the append that the row waits for has ended, whatever became of it. Once the clock of the rows (`clock_ms`) has passed
  -- it, the fold has seen what was appended: a PENDING row is void then, and so is the mark. Null: nothing is waited for.
  until_ms bigint check (until_ms >= 0),
  primary key (order_hash, maker),
  check (state <> 'PENDING' or until_ms is not null),
  check (not is_cancelling or (state in ('PENDING', 'OPEN') and until_ms is not null))
);
create index hashes_unsettled on hashes (partition, maker) where until_ms is not null;

-- A maker's budgets, and the row that a request locks. Ingress alone writes it. What a crash forgets is a full budget.
create unlogged table budgets (
  maker bytea primary key check (octet_length(maker) = 20),
  order_tokens double precision,
  order_at_ms bigint not null default 0,
  cancel_tokens double precision,
  cancel_at_ms bigint not null default 0
) with (fillfactor = 50);

-- Hashes of which a DELETE was told that they are unknown, and when: a request that was received before does not place them.
create unlogged table told_unknown (
  order_hash bytea primary key,
  told_at_ms bigint not null
);

-- One row as long as the rows may be trusted: all appends that were in flight when Postgres lost something have ended, and the
-- rows have reached the end that the log had then. A crash, a failover or a restore empties the table.
create unlogged table trust (
  started_at timestamptz primary key
);

-- Who does what. A claim that is not renewed may be taken by another process; the epochs in the broker are the fence.
create unlogged table claims (
  work text not null,
  name text not null,
  holder text not null,
  renewed_at timestamptz not null,
  primary key (work, name)
) with (fillfactor = 50);
create unlogged table claimants (
  work text not null,
  holder text not null,
  seen_at timestamptz not null,
  primary key (work, holder)
) with (fillfactor = 50);
