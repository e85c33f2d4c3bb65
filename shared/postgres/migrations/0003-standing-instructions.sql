-- A row of `cancelling` is on its way into the log: a cancellation, or a standing instruction of a maker (its switch, its keys,
-- its cap of a token): {"subject", "issuedAtMs", "terms", "key"}. `order_hash` names the instruction then.
alter table cancelling add column instruction jsonb;

-- What counts of each standing instruction of a maker: in the rows, or on its way into the log. Of one subject the newest counts.
-- The time of a switch by a key that is revoked does not.
create function standing(p_maker bytea)
returns table (subject text, issued_at_ms bigint, terms jsonb) language sql stable as $$
  with given as (
    select 'switch' as subject, coalesce((exits ->> 'switchIssuedAtMs')::bigint, 0) as issued_at_ms, exits ->> 'switchKey' as key,
      jsonb_build_object('cancelAt', coalesce(exits -> 'cancelAt', '0')) as terms, true as is_folded
    from makers where maker = p_maker and exits ?| array['cancelAt', 'switchIssuedAtMs']
    union all
    select 'keys', (exits ->> 'keysIssuedAtMs')::bigint, null, jsonb_build_object('keys', coalesce(exits -> 'cancelKeys', '[]')), true
    from makers where maker = p_maker and exits ? 'keysIssuedAtMs'
    union all
    select 'cap:' || (cap ->> 'token'), (cap ->> 'issuedAtMs')::bigint, null,
      jsonb_build_object('amount', cap -> 'amount', 'windowSeconds', cap -> 'windowSeconds'), true
    from makers, jsonb_array_elements(exits -> 'caps') as cap where maker = p_maker
    union all
    select instruction ->> 'subject', (instruction ->> 'issuedAtMs')::bigint, instruction ->> 'key', instruction -> 'terms', false
    from cancelling where maker = p_maker and instruction is not null),
  keys as (select terms -> 'keys' as named from given where subject = 'keys' order by issued_at_ms desc limit 1),
  counting as (
    select subject, terms, case when is_revoked then 0 else issued_at_ms end as issued_at_ms
    from given left join keys on true, lateral (select key is not null and not coalesce(named ? key, false) as is_revoked) r
    where is_folded or not is_revoked)
  select distinct on (subject) subject, issued_at_ms, terms from counting order by subject, issued_at_ms desc
$$;

-- Whether these are the terms of a cap that is on.
create function is_on(p_terms jsonb) returns boolean language sql immutable as $$
  select p_terms ? 'amount' and p_terms ->> 'amount' <> '0x0' and (p_terms ->> 'windowSeconds')::bigint > 0
$$;

-- Decides about a standing instruction of a maker, charges it to the budget of cancellations, and marks it.
--   p_count: 0 asks whether an instruction that was taken before still counts, and marks nothing
--   p_instruction: as in `cancelling`
-- `outcome` is `rate_limited` (`figure` is the milliseconds until the budget holds it), `unknown_key` (of a switch), `superseded`
-- (`counts` is the time and the terms of what counts), `too_many_caps`, or `taken` (`figure` is until when the mark counts). All but
-- `taken` charge nothing. `is_known` is false where the rows may lack instructions that the log has.
create function instruct(
  p_now_ms bigint, p_lasts_ms bigint, p_rate double precision, p_burst double precision, p_count integer,
  p_maker bytea, p_partition integer, p_mark bytea, p_instruction jsonb, p_caps_max integer,
  out outcome text, out figure bigint, out remaining integer[], out counts jsonb, out is_known boolean
) language plpgsql as $$
declare
  v_left double precision := charge(p_maker, true, p_count, p_now_ms, p_rate, p_burst);
  v_issued_at_ms bigint;
  v_terms jsonb;
  v_keys jsonb;
  v_caps bigint;
begin
  remaining := array[floor(greatest(0, v_left))::integer];
  figure := 0;
  -- One snapshot: the fold writes an instruction in the commit that deletes its mark.
  select max(issued_at_ms) filter (where subject = p_instruction ->> 'subject'),
    (array_agg(terms) filter (where subject = p_instruction ->> 'subject'))[1],
    (array_agg(terms -> 'keys') filter (where subject = 'keys'))[1],
    count(*) filter (where subject like 'cap:%' and subject <> p_instruction ->> 'subject' and is_on(terms)),
    exists (select from trusted) and not exists (select from makers where maker = p_maker and quarantined_offset is not null)
  into v_issued_at_ms, v_terms, v_keys, v_caps, is_known
  from standing(p_maker);
  outcome := case
    when v_left < -0.00001 then 'rate_limited'
    when p_instruction ? 'key' and not coalesce(v_keys ? (p_instruction ->> 'key'), false) then 'unknown_key'
    when v_issued_at_ms > (p_instruction ->> 'issuedAtMs')::bigint
      or v_issued_at_ms = (p_instruction ->> 'issuedAtMs')::bigint and v_terms <> p_instruction -> 'terms' then 'superseded'
    when v_caps >= p_caps_max and is_on(p_instruction -> 'terms') then 'too_many_caps'
    else 'taken' end;
  if outcome <> 'taken' then
    remaining := give_back(array[p_maker], true, array[p_count]);
    if outcome = 'rate_limited' then figure := ceil(-v_left * 1000 / p_rate); end if;
    if outcome = 'superseded' then counts := v_terms || jsonb_build_object('issuedAtMs', v_issued_at_ms); end if;
    return;
  end if;
  if p_count = 0 then return; end if;
  figure := until_ms(p_now_ms, p_lasts_ms);
  insert into cancelling (maker, order_hash, partition, until_ms, instruction)
  values (p_maker, p_mark, p_partition, figure, p_instruction);
end $$;
