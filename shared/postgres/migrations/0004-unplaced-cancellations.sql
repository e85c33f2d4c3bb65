-- Charges cancellations of hashes that nobody has placed, as far as is known, to their maker's budget of orders, and marks them. Each
-- is remembered like an order, and counts as one. Those that are remembered or on their way already cost nothing.
--   outcome  `marked`, `rate_limited`, `over_budget` or `too_many_remembered`, which charges all the same
--   figure   the time until which the marks count; milliseconds until the budget holds so many; how many are remembered
--
-- Each look-up is by an index, as in `place`.
create function mark_unplaced(
  p_now_ms bigint, p_lasts_ms bigint, p_rate double precision, p_burst double precision, p_remembered_max bigint,
  p_maker bytea, p_partition integer, p_hashes bytea[],
  out outcome text, out figure bigint, out remaining integer
) language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_known bytea[];
  v_count integer;
  -- It locks the budget, so requests of one maker are decided one after the other.
  v_left double precision := charge(p_maker, false, cardinality(p_hashes), p_now_ms, p_rate, p_burst);
begin
  v_known := array(
    select order_hash from hashes where order_hash = any (p_hashes) and maker = p_maker
    union select order_hash from in_flight where order_hash = any (p_hashes) and maker = p_maker
    union select order_hash from cancelling where maker = p_maker and order_hash = any (p_hashes));
  v_count := cardinality(p_hashes) - cardinality(v_known);
  v_left := v_left + cardinality(v_known);
  remaining := (give_back(array[p_maker], false, array[cardinality(v_known)]))[1];
  if v_left < -0.00001 then
    outcome := case when v_count > p_burst then 'over_budget' else 'rate_limited' end;
    figure := ceil(-v_left * 1000 / p_rate);
    remaining := (give_back(array[p_maker], false, array[v_count]))[1];
    return;
  end if;
  figure := coalesce((select m.remembered from makers m where m.maker = p_maker), 0)
    + (select count(*) from in_flight where maker = p_maker)
    + (
      select count(distinct c.order_hash) from cancelling c
      where c.maker = p_maker
        and not exists (select from hashes h where h.order_hash = c.order_hash and h.maker = p_maker)
        and not exists (select from in_flight f where f.order_hash = c.order_hash and f.maker = p_maker));
  if v_count > 0 and figure + v_count > p_remembered_max then
    outcome := 'too_many_remembered';
    return;
  end if;
  outcome := 'marked';
  figure := until_ms(p_now_ms, p_lasts_ms);
  insert into cancelling (maker, order_hash, partition, until_ms)
  select p_maker, u.order_hash, p_partition, figure from unnest(p_hashes) as u (order_hash);
end $$;
