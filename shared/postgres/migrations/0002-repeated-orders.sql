-- What anybody can repeat is not charged to its maker: the public book shows orders with their signatures. So an order whose hash
-- is known is not charged, and neither is one whose nonce the maker's has passed. `figure` of `duplicate` and `charged` is how
-- many of the orders have hashes that are known.
create or replace function place(
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
  -- Hashes that were accepted or cancelled, and the places of the orders of one maker that have others.
  v_repeated bytea[];
  v_known_orders integer := 0;
  v_new integer[];
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
  select coalesce(array_agg(order_hash), '{}') into v_repeated from hashes
  where order_hash = any (p_hashes) and maker = p_makers[p_maker_of[array_position(p_hashes, order_hash)]];
  for i in 1..c_makers loop
    v_new := array_positions(p_maker_of, i);
    v_known_orders := v_known_orders + cardinality(v_new);
    if v_repeated <> '{}' then
      v_new := array(select o.place from unnest(v_new) as o (place) where p_hashes[o.place] <> all (v_repeated));
    end if;
    v_counts[i] := cardinality(v_new);
    v_known_orders := v_known_orders - v_counts[i];
    v_left := charge(p_makers[i], false, v_counts[i], p_now_ms, p_rates[i], p_bursts[i]);
    remaining[i] := floor(greatest(0, v_left));
    continue when v_left > -0.00001;
    v_outcome := case when v_counts[i] > p_bursts[i] then 'over_budget' else 'rate_limited' end;
    v_place := case v_outcome when 'over_budget' then floor(p_bursts[i]) else floor(v_counts[i] + v_left + 0.00001) end + 1;
    v_place := v_new[v_place];
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
    figure := v_known_orders;
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
  if p_is_merged and outcome is not null or outcome in ('untrusted', 'quarantined', 'in_flight', 'nonce_passed') then
    remaining := give_back(p_makers, false, v_counts);
  end if;
  if outcome = 'duplicate' then figure := v_known_orders; end if;
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
