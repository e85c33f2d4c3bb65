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
  -- When the newest folded record was written to the log, by the record's own time; 0 before the first.
  clock_ms bigint not null default 0 check (clock_ms >= 0),
  -- What the feed's clock says of the partition's book: its orders, and the hash over them.
  book_entries integer not null default 0 check (book_entries >= 0),
  book_hash bytea not null default decode(repeat('00', 32), 'hex') check (octet_length(book_hash) = 32),
  -- How many parts of the next fact are committed, which is a block then; 0 where none is.
  block_parts integer not null default 0 check (block_parts >= 0),
  -- The history of facts before this offset is pruned.
  history_from bigint not null default 0 check (history_from >= 0)
) with (fillfactor = 50);

create table makers (
  maker bytea primary key check (octet_length(maker) = 20),
  partition integer not null check (partition >= 0),
  admission text not null check (admission in ('UNKNOWN', 'ADMITTED', 'SUSPENDED', 'REMOVED')),
  -- The maker's own limits, by the names of the facts; what is not there is as the service has it.
  limits jsonb not null default '{}' check (jsonb_typeof(limits) = 'object'),
  -- How it takes back or withholds all its orders, by the names of the fold; what is not there is off.
  exits jsonb not null default '{}' check (jsonb_typeof(exits) = 'object'),
  nonce numeric(78, 0) check (nonce >= 0),
  nonce_block bigint check (nonce_block >= 0),
  -- No order of the maker is due for anything before the partition's clock reaches this second. Null: nothing is.
  due_at_seconds bigint check (due_at_seconds >= 0),
  -- The offset of the fact that last changed the maker's list; 0 before the first.
  list_version bigint not null default 0 check (list_version >= 0),
  -- How many orders are open.
  open_orders integer not null default 0 check (open_orders >= 0),
  -- How many rows of `hashes` the maker has.
  remembered bigint not null default 0 check (remembered >= 0),
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
  -- Until when a cap of its maker keeps it out of the book, in seconds by the partition's clock; 0 where none does.
  capped_until bigint not null default 0 check (capped_until >= 0),
  -- The listed record up to its status: {"order":{…},"orderHash":"0x…","signature":"0x…"
  record_start text not null,
  -- The signature of an order that its maker's contract accepted (EIP-1271), whom the chain-watcher asks again and again. Null:
  -- the maker's key signed, and nothing is to be asked.
  wallet_signature bytea check (octet_length(wallet_signature) <= 1024),
  check (remaining <= making_amount),
  check ((status = 'INACTIVE') = (reason is not null)),
  check (is_observed or status = 'VALIDATING'),
  check (capped_until = 0 or not in_book)
-- Nearly each order changes once, soon after it came: room on its page spares the indexes an entry.
) with (fillfactor = 50);
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
  -- What is left of its making amount afterwards.
  remaining numeric(78, 0) not null check (remaining > 0 or happened = 'REMOVED' and remaining = 0),
  -- As of the order afterwards.
  capped_until bigint not null default 0 check (capped_until >= 0),
  -- One fact does the same thing to an order once. A maker asks for the history of one order, or of all.
  primary key (order_hash, log_offset, happened),
  check (happened <> 'REMOVED' or coalesce(reason, '') in ('CANCELLED', 'CANCELLED_ONCHAIN', 'NONCE_CHANGED', 'FILLED', 'EXPIRED'))
);

-- Pruning goes by it.
create index order_history_of_fact on order_history (partition, log_offset);
create index order_history_of_maker on order_history (maker, log_offset);

-- Fills of makers' orders, open here or not, and the fact that has the rest. A fill is a log of the chain: a repeat is dropped.
create table fills (
  order_hash bytea not null,
  block_number bigint not null check (block_number >= 0),
  log_index integer not null check (log_index >= 0),
  maker bytea not null,
  partition integer not null,
  log_offset bigint not null,
  primary key (order_hash, block_number, log_index)
);
create index fills_of_fact on fills (partition, log_offset);
create index fills_of_maker on fills (maker, log_offset);

-- Every hash that the fold has seen, until a day after its order has expired, or until the maker's nonce on the chain has
-- passed the order's. A hash that has a row is not accepted again.
--   ACCEPTED   its order is open, or was
--   CANCELLED  its maker cancelled it before it was accepted: should the order still come, it is removed at once
--   UNFOLDED   its order is in the log, and its maker is in quarantine: it is folded when the maker is released
create table hashes (
  order_hash bytea not null check (octet_length(order_hash) = 32),
  -- Anybody may sign a cancellation of another maker's hash: a row is of a hash and a maker.
  maker bytea not null check (octet_length(maker) = 20),
  partition integer not null check (partition >= 0),
  state text not null check (state in ('ACCEPTED', 'CANCELLED', 'UNFOLDED')),
  -- Of an UNFOLDED hash, which has no order: the salt, as a response has it.
  salt text,
  -- Unknown of a hash that was cancelled before its order came.
  nonce numeric(78, 0) check (nonce >= 0),
  expires_at_seconds bigint not null check (expires_at_seconds >= 0),
  primary key (order_hash, maker),
  check ((state = 'UNFOLDED') = (salt is not null)),
  check (state = 'CANCELLED' or nonce is not null)
);
create index hashes_unfolded on hashes (maker) where state = 'UNFOLDED';
-- Pruning finds by it what has expired, and what the nonce has passed.
create index hashes_of_maker on hashes (maker, expires_at_seconds, nonce);

-- What ingress writes, and nobody else but the fold, which deletes what it has seen. All of it is unlogged: a crash, a
-- failover or a restore empties these tables, `trust` among them. Ingress then decides nothing before every append that was
-- in flight has ended and the log is folded to its end. So what these tables forget is in the rows by then.

-- A maker's two budgets, of orders and of cancellations. A request locks the row first, so that requests of one maker are decided
-- one after the other.
create unlogged table budgets (
  maker bytea not null,
  of_cancels boolean not null,
  -- Null: full.
  tokens double precision,
  at_ms bigint not null default 0,
  primary key (maker, of_cancels)
) with (fillfactor = 50);

-- A hash that a request has placed and the fold has not seen yet. Or a note, without a maker: a DELETE was told that the hash is
-- unknown, so a request that was received before does not place it. One table holds both: its primary key decides which of the
-- two comes first.
create unlogged table in_flight (
  order_hash bytea primary key,
  -- Null: a note.
  maker bytea,
  partition integer,
  -- As a response has it.
  salt text,
  expires_at_seconds bigint,
  -- The append has ended by then, whatever became of it. Once the clock of the rows has passed this time, the fold has seen the
  -- order or never will, and the row is deleted. A note holds for requests that were received by then.
  until_ms bigint not null,
  check ((maker is null) = (partition is null))
);
create index in_flight_of_maker on in_flight (maker);
create index in_flight_until on in_flight (partition, until_ms);

-- A cancellation on its way into the log: its order does not count as open. Each request inserts rows of its own; the fold
-- deletes them when it meets the cancellation or the order's end, or when its clock has passed `until_ms`.
create unlogged table cancelling (
  maker bytea not null,
  order_hash bytea not null,
  partition integer not null,
  until_ms bigint not null
);
create index cancelling_of_maker on cancelling (maker, order_hash);

-- Whether ingress may decide by these rows: the server that was started then has lost nothing since `since_ms`, and the rows
-- have reached the end that the log had after that.
create unlogged table trust (
  is_only boolean primary key default true check (is_only),
  started_at timestamptz not null,
  -- Of this table: a dump that is restored into the same server brings rows that were true of another one.
  table_id oid not null,
  since_ms bigint not null,
  is_trusted boolean not null
);

-- A new database has lost nothing.
insert into trust (started_at, table_id, since_ms, is_trusted)
values (pg_postmaster_start_time(), 'trust'::regclass, 0, false);

-- The row of `trust`, unless this server has lost something since.
create view trusted as
select since_ms from trust
where is_only and started_at = pg_postmaster_start_time() and table_id = 'trust'::regclass and is_trusted;

-- A process whose clock is behind must not end its rows early.
create function until_ms(p_now_ms bigint, p_lasts_ms bigint) returns bigint language sql as $$
  select greatest(p_now_ms, (extract(epoch from clock_timestamp()) * 1000)::bigint) + p_lasts_ms
$$;

-- Takes tokens from a budget of a maker, and returns how many are left: below zero where it does not hold so many. It locks the
-- budget, so requests of one maker are decided one after the other.
create function charge(
  p_maker bytea, p_of_cancels boolean, p_count integer, p_now_ms bigint, p_rate double precision, p_burst double precision
) returns double precision language plpgsql as $$
declare
  v_left double precision;
begin
  loop
    update budgets b set at_ms = greatest(b.at_ms, p_now_ms), tokens =
      least(p_burst, coalesce(b.tokens + greatest(0, p_now_ms - b.at_ms) * p_rate / 1000, p_burst)) - p_count
    where b.maker = p_maker and b.of_cancels = p_of_cancels returning b.tokens into v_left;
    if found then return v_left; end if;
    insert into budgets (maker, of_cancels) values (p_maker, p_of_cancels) on conflict do nothing;
  end loop;
end $$;

-- Returns what each maker's budget holds once its charge is given back.
create function give_back(p_makers bytea[], p_of_cancels boolean, p_counts integer[]) returns integer[] language plpgsql as $$
declare
  v_remaining integer[] := '{}';
begin
  for i in 1..cardinality(p_makers) loop
    update budgets b set tokens = b.tokens + p_counts[i]
    where b.maker = p_makers[i] and b.of_cancels = p_of_cancels
    returning array_append(v_remaining, floor(b.tokens)::integer) into v_remaining;
  end loop;
  return v_remaining;
end $$;

-- Decides about a request to place orders, as a whole: budgets, known hashes, open orders, and the rows in `in_flight`. Each
-- check goes over all orders before the next one, and the lowest index answers.
--   p_makers in the order of their addresses; p_maker_of has the maker of each order, from 1
--   p_charge_only: a check that follows the budgets has failed already
--   p_is_merged: it stands for several requests. A refusal charges nothing then, for each of them is decided by itself afterwards.
--   p_repeat_at: the first order that repeats a hash of the request, from 0; -1 where none does
--   p_lasts_ms: the append that follows has ended this long after now, by the clock here or that of the request, whichever is ahead.
--   `figure` of `placed` is that time.
-- A refusal that is final charges the budgets; `untrusted`, `quarantined`, `in_flight`, `rate_limited` and `over_budget` do not.
--
-- Each look-up is by an index: plans are made while the tables are small, and must hold when they have grown. No bitmap scan, for
-- it visits the rows in flight that were deleted until they are vacuumed; an index scan marks them as dead.
create function place(
  p_now_ms bigint, p_received_at_ms bigint, p_lasts_ms bigint, p_charge_only boolean, p_repeat_at integer, p_is_merged boolean,
  p_makers bytea[], p_partitions integer[], p_rates double precision[], p_bursts double precision[],
  p_open_max integer[], p_remembered_max bigint,
  p_maker_of integer[], p_hashes bytea[], p_salts text[], p_expires bigint[], p_nonces numeric[],
  out outcome text, out at integer, out figure bigint, out remaining integer[]
) language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  c_makers constant integer := cardinality(p_makers);
  v_counts integer[] := '{}';
  v_left double precision;
  v_maker record;
  -- The lowest place of each kind, from 1.
  v_place integer;
  v_known integer := nullif(p_repeat_at, -1) + 1;
  v_flying integer;
  v_told integer;
  v_passed integer;
  v_over integer;
  v_over_outcome text;
  v_outcome text;
  v_rows integer;
begin
  remaining := '{}';
  figure := 0;
  for i in 1..c_makers loop
    v_counts[i] := case when c_makers = 1 then cardinality(p_hashes) else cardinality(array_positions(p_maker_of, i)) end;
    v_left := charge(p_makers[i], false, v_counts[i], p_now_ms, p_rates[i], p_bursts[i]);
    remaining[i] := floor(greatest(0, v_left));
    continue when v_left > -0.00001;
    v_outcome := case when v_counts[i] > p_bursts[i] then 'over_budget' else 'rate_limited' end;
    v_place := case v_outcome when 'over_budget' then floor(p_bursts[i]) else floor(v_counts[i] + v_left + 0.00001) end + 1;
    v_place := (array_positions(p_maker_of, i))[v_place];
    continue when v_over <= v_place;
    v_over := v_place;
    outcome := v_outcome;
    figure := case v_outcome when 'over_budget' then 0 else ceil(-v_left * 1000 / p_rates[i]) end;
  end loop;
  if outcome is not null then
    at := v_over - 1;
    remaining := give_back(p_makers, false, v_counts);
    return;
  elsif p_charge_only then
    outcome := 'charged';
    return;
  end if;

  -- One snapshot: the fold counts an order in the commit that deletes its row in flight, and it does not forget a hash before it
  -- writes the nonce that has passed it.
  for v_maker in
    select r.at::integer as at, exists (select from trusted where since_ms < p_received_at_ms) as is_trusted,
      m.quarantined_offset is not null as is_quarantined, coalesce(m.nonce, 0) as nonce,
      coalesce(m.open_orders, 0) + n.orders - (select count(*) from orders where order_hash = any (c.hashes)) as open,
      coalesce(m.remembered, 0) + n.orders as remembered,
      h.known, f.told, least(f.flying, c.flying) as flying, coalesce(c.hashes, '{}') as cancelling
    from (
        select min(array_position(p_hashes, order_hash)) as known from hashes
        where order_hash = any (p_hashes) and maker = p_makers[p_maker_of[array_position(p_hashes, order_hash)]]) as h
      cross join (
        select min(array_position(p_hashes, order_hash)) filter (where maker is not null) as flying,
          min(array_position(p_hashes, order_hash)) filter (where maker is null and until_ms >= p_received_at_ms) as told
        from in_flight where order_hash = any (p_hashes)) as f
      cross join unnest(p_makers) with ordinality as r (maker, at)
      cross join lateral (
        select array_agg(order_hash) as hashes,
          min(array_position(p_hashes, order_hash)) filter (where p_maker_of[array_position(p_hashes, order_hash)] = r.at) as flying
        from cancelling where maker = r.maker) as c
      cross join lateral (
        select count(*) as orders from in_flight
        where maker = r.maker and expires_at_seconds > p_now_ms / 1000
          and (c.hashes is null or order_hash <> all (c.hashes))) as n
      left join makers m on m.maker = r.maker
    order by r.at
  loop
    if not v_maker.is_trusted or v_maker.is_quarantined then
      outcome := case when v_maker.is_trusted then 'quarantined' else 'untrusted' end;
      exit;
    end if;
    v_known := least(v_known, v_maker.known);
    v_flying := least(v_flying, v_maker.flying);
    v_told := least(v_told, v_maker.told);
    if v_maker.nonce > 0 then
      select least(v_passed, min(o.place)) into v_passed
      from unnest(p_nonces, p_maker_of) with ordinality as o (nonce, maker_at, place)
      where o.maker_at = v_maker.at and o.nonce < v_maker.nonce;
    end if;
    if v_maker.open + v_counts[v_maker.at] > p_open_max[v_maker.at] then
      -- What has expired by the clock here, and not yet by that of the rows, takes no place.
      v_maker.open := v_maker.open - (
        select count(*) from orders
        where maker = p_makers[v_maker.at] and expires_at_seconds <= p_now_ms / 1000 and order_hash <> all (v_maker.cancelling));
    end if;
    v_outcome := case
      when v_maker.open + v_counts[v_maker.at] > p_open_max[v_maker.at] then 'too_many_open'
      when v_maker.remembered + v_counts[v_maker.at] > p_remembered_max then 'too_many_remembered' end;
    continue when v_outcome is null;
    v_place := case v_outcome when 'too_many_open' then p_open_max[v_maker.at] - v_maker.open else p_remembered_max - v_maker.remembered end;
    v_place := (array_positions(p_maker_of, v_maker.at))[greatest(0, v_place) + 1];
    continue when v_over <= v_place;
    v_over := v_place;
    v_over_outcome := v_outcome;
    figure := case v_outcome when 'too_many_open' then v_maker.open else v_maker.remembered end;
  end loop;

  if outcome is null then
    at := coalesce(least(v_known, v_flying), v_told, v_passed, v_over) - 1;
    outcome := case at + 1 when v_known then 'duplicate' when v_flying then 'in_flight' when v_told then 'told_unknown'
      when v_passed then 'nonce_passed' when v_over then v_over_outcome end;
  end if;
  if p_is_merged and outcome is not null or outcome in ('untrusted', 'quarantined', 'in_flight') then
    remaining := give_back(p_makers, false, v_counts);
  end if;
  if outcome is not null then return; end if;

  figure := until_ms(p_now_ms, p_lasts_ms);
  -- In the order of the hashes, so that two requests never wait for each other.
  insert into in_flight as f (order_hash, maker, partition, salt, expires_at_seconds, until_ms)
  select o.order_hash, p_makers[o.maker_at], p_partitions[o.maker_at], o.salt, o.expires_at_seconds, figure
  from unnest(p_hashes, p_maker_of, p_salts, p_expires) as o (order_hash, maker_at, salt, expires_at_seconds)
  order by o.order_hash
  on conflict (order_hash) do update set maker = excluded.maker, partition = excluded.partition, salt = excluded.salt,
    expires_at_seconds = excluded.expires_at_seconds, until_ms = excluded.until_ms
  where f.maker is null and f.until_ms < p_received_at_ms;
  get diagnostics v_rows = row_count;
  if v_rows < cardinality(p_hashes) then
    raise exception 'a hash was told unknown meanwhile' using errcode = 'serialization_failure';
  end if;
  outcome := 'placed';
end $$;

-- What is known of hashes that are to be cancelled, in their order.
--   FOUND    the order is open, in flight (and `is_flying`), or unfolded
--   GONE     it was accepted and is not open any more
--   UNKNOWN  no request that was received by now will place it: that is noted
--   UNSURE   nothing is known, and nothing is noted
--
-- It joins tables. The settings of the planner leave one plan, a look-up by an index for each hash: a bitmap scan is the one that
-- is never made without a condition. The plan is made while the tables are small, and must hold when they have grown.
create function find_orders(p_now_ms bigint, p_may_note boolean, p_hashes bytea[])
returns table (state text, maker bytea, salt text, expires_at_seconds bigint, is_flying boolean)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_indexscan = off
  set enable_indexonlyscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off as $$
#variable_conflict use_column
declare
  v_may_note constant boolean := p_may_note and exists (select from trusted where since_ms <= p_now_ms);
begin
  if v_may_note then
    -- The note comes first, and then a look at what has come before it.
    insert into in_flight as f (order_hash, until_ms)
    select distinct u.order_hash, p_now_ms from unnest(p_hashes) as u (order_hash)
    where not exists (select from orders o where o.order_hash = u.order_hash)
      and not exists (select from hashes h where h.order_hash = u.order_hash and h.state <> 'CANCELLED')
      and not exists (select from in_flight g where g.order_hash = u.order_hash and g.maker is not null)
    order by u.order_hash
    on conflict (order_hash) do update set until_ms = greatest(f.until_ms, excluded.until_ms)
    where f.maker is null;
  end if;
  return query
  select case
      when o.maker is not null or f.maker is not null or h.state = 'UNFOLDED' then 'FOUND'
      when h.maker is not null then 'GONE'
      -- Not where what was in flight at first has gone meanwhile: nothing is noted then.
      when v_may_note and f.until_ms >= p_now_ms then 'UNKNOWN'
      else 'UNSURE' end,
    coalesce(o.maker, f.maker, h.maker),
    coalesce((o.record_start || '}')::json -> 'order' ->> 'salt', f.salt, h.salt),
    coalesce(o.expires_at_seconds, f.expires_at_seconds, h.expires_at_seconds),
    o.maker is null and f.maker is not null
  from unnest(p_hashes) with ordinality as u (order_hash, place)
    left join orders o on o.order_hash = u.order_hash
    left join in_flight f on f.order_hash = u.order_hash
    left join hashes h on h.order_hash = u.order_hash and h.state <> 'CANCELLED'
  order by u.place;
end $$;

-- Charges cancellations to the budgets of their makers, all or none, and marks them.
--   p_makers in the order of their addresses; p_maker_of has the maker of each hash, from 1
--   p_is_first: nothing is charged or marked where one of them is marked already, or is not open any more
-- `refused` is the maker whose budget does not hold so many, 0 where all do, -1 where another came first. `figure` is the milliseconds until it does, or the
-- time until which the marks count.
create function mark_cancelling(
  p_now_ms bigint, p_lasts_ms bigint, p_rate double precision, p_burst double precision,
  p_makers bytea[], p_partitions integer[], p_maker_of integer[], p_hashes bytea[], p_is_first boolean,
  out refused integer, out figure bigint, out remaining integer[]
) language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  c_makers constant integer := cardinality(p_makers);
  v_counts integer[] := '{}';
  v_left double precision;
begin
  refused := 0;
  remaining := '{}';
  for i in 1..c_makers loop
    v_counts[i] := cardinality(array_positions(p_maker_of, i));
    v_left := charge(p_makers[i], true, v_counts[i], p_now_ms, p_rate, p_burst);
    remaining[i] := floor(greatest(0, v_left));
    if refused = 0 and v_left < -0.00001 then
      refused := i;
      figure := ceil(-v_left * 1000 / p_rate);
    end if;
  end loop;
  -- One snapshot: the fold deletes an order in the commit that deletes its mark, or notes that it was cancelled before it came.
  if refused = 0 and p_is_first and (
    exists (select from cancelling where maker = any (p_makers) and order_hash = any (p_hashes))
    or exists (
      select from unnest(p_hashes) as u (order_hash)
      where not exists (select from orders o where o.order_hash = u.order_hash)
        and not exists (
          select from in_flight f
          where f.order_hash = u.order_hash and f.maker is not null
            and not exists (
              select from hashes h
              where h.order_hash = f.order_hash and h.maker = f.maker and h.state = 'CANCELLED')))
  ) then
    refused := -1;
    figure := 0;
  end if;
  if refused <> 0 then
    remaining := give_back(p_makers, true, v_counts);
    return;
  end if;
  figure := until_ms(p_now_ms, p_lasts_ms);
  insert into cancelling (maker, order_hash, partition, until_ms)
  select p_makers[c.maker_at], c.order_hash, p_partitions[c.maker_at], figure
  from unnest(p_hashes, p_maker_of) as c (order_hash, maker_at);
end $$;

-- Charges cancellations to the budget of a maker. If a time is given, marks its open orders of these tokens that were accepted by
-- then, and p_mark, by which a list waits for the fact itself. Null stands for any token. Returns as `mark_cancelling` does, with
-- what is marked. An order that is marked already is not marked again.
create function mark_all(
  p_now_ms bigint, p_lasts_ms bigint, p_rate double precision, p_burst double precision, p_count integer,
  p_maker bytea, p_partition integer, p_accepted_ms bigint, p_making bytea, p_taking text, p_mark bytea,
  out refused integer, out figure bigint, out remaining integer[], out hashes text[]
) language plpgsql as $$
declare
  v_left double precision := charge(p_maker, true, p_count, p_now_ms, p_rate, p_burst);
begin
  refused := case when v_left < -0.00001 then 1 else 0 end;
  remaining := array[floor(greatest(0, v_left))::integer];
  if refused > 0 then
    figure := ceil(-v_left * 1000 / p_rate);
    remaining := give_back(array[p_maker], true, array[p_count]);
    return;
  end if;
  figure := until_ms(p_now_ms, p_lasts_ms);
  if p_accepted_ms is null then return; end if;
  with marked as (
    insert into cancelling (maker, order_hash, partition, until_ms)
    select p_maker, p_mark, p_partition, figure
    union all
    select maker, order_hash, p_partition, figure from orders o
    where not exists (select from cancelling c where c.maker = p_maker and c.order_hash = o.order_hash) and maker = p_maker and accepted_at_ms <= p_accepted_ms and making_token = coalesce(p_making, making_token)
      and (p_taking is null or (record_start || '}')::json -> 'order' -> 'taking' ->> 'token' = p_taking)
    returning order_hash)
  select array_agg('0x' || encode(order_hash, 'hex')) into hashes from marked;
end $$;

-- Deletes hashes of a partition, at most so many: of orders that have been expired for p_hash_seconds by its clock, and of nonces
-- that their maker's has passed. A maker in quarantine keeps all, for facts about it are still to be folded.
create function forget_hashes(p_partition integer, p_hash_seconds bigint, p_rows_max integer)
returns bigint language plpgsql as $$
declare
  v_rows bigint;
begin
  -- As a commit does: so neither waits for rows of the other, and what is read below is from after it.
  perform from projections where partition = p_partition for update;
  with pruned as (
    delete from hashes where ctid = any (array(
      select forgotten.ctid from projections p join makers m using (partition), lateral (
        (select ctid from hashes where maker = m.maker and expires_at_seconds <= p.block_timestamp - p_hash_seconds limit p_rows_max)
        union
        (select ctid from hashes where maker = m.maker and m.nonce > 0 and nonce < m.nonce limit p_rows_max)) forgotten
      where partition = p_partition and m.quarantined_offset is null limit p_rows_max))
    returning maker),
  counted as (select maker, count(*) as hashes from pruned group by maker),
  updated as (
    update makers set remembered = remembered - hashes from counted where makers.maker = counted.maker returning hashes)
  select coalesce(sum(hashes), 0) into v_rows from updated;
  return v_rows;
end $$;

-- The projectors, and which of them has which partition. One that is not seen for a while has none: another may take them.
-- A partition without a holder was given back. The epochs in the broker are the fence.
create unlogged table claimants (
  holder text primary key,
  seen_at timestamptz not null,
  is_leaving boolean not null
) with (fillfactor = 50);
create unlogged table claims (
  partition integer primary key check (partition >= 0),
  holder text
);
