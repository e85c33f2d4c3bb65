-- A broker may store the record of an order more than once. So its hash is remembered for some time after it came, whatever its nonce.
alter table hashes add column kept_until_seconds bigint not null default 0 check (kept_until_seconds >= 0);

-- Deletes hashes of a partition, at most so many: of orders that have been expired for p_hash_seconds by its clock, and of nonces
-- that their maker's has passed, once no record of the order can come again. A maker in quarantine keeps all, for facts about it are still to be folded.
create or replace function forget_hashes(p_partition integer, p_hash_seconds bigint, p_rows_max integer)
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
        (select ctid from hashes
         where maker = m.maker and m.nonce > 0 and nonce < m.nonce and kept_until_seconds <= p.block_timestamp limit p_rows_max)) forgotten
      where partition = p_partition and m.quarantined_offset is null limit p_rows_max))
    returning maker),
  counted as (select maker, count(*) as hashes from pruned group by maker),
  updated as (
    update makers set remembered = remembered - hashes from counted where makers.maker = counted.maker returning hashes)
  select coalesce(sum(hashes), 0) into v_rows from updated;
  return v_rows;
end $$;
