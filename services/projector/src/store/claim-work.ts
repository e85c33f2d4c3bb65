import type { Postgres, RowsPosition } from '@makerbook/postgres';

/** The request of one process in one look at the claims. */
export interface ClaimRequest {
  /** Names the process; a new one after each start. */
  readonly holder: string;
  readonly partitions: number;
  /** Partitions that the process works on: those that it has, and those that it is ending. It gives back all others. */
  readonly busy: readonly number[];
  /**
   * True if it takes nothing any more. What it has is surplus as soon as another process is there that is not leaving.
   */
  readonly isLeaving: boolean;
}

export interface Claims {
  /** All that the process has after this look. It has lost any that it works on and that is not in here. */
  readonly owned: ReadonlySet<number>;
  /** Partitions that it must end and give back, because others have less than their share. */
  readonly surplus: ReadonlySet<number>;
  /** The position of the rows, keyed by owned partition. */
  readonly positions: ReadonlyMap<number, RowsPosition>;
}

interface ClaimRow {
  readonly partition: number;
  readonly is_surplus: boolean;
  /** Null, like `block_parts`, if the partition has no rows yet. */
  readonly next_offset: bigint | null;
  readonly block_parts: number | null;
}

/** A process that has not looked for this long counts as gone. */
const EXPIRY = "interval '2 seconds'";

/**
 * Shows that the process is there, gives back what it does not work on, and takes what is free, up to its share:
 * partitions divided by processes, rounded up. If two take the same partition, one gets it.
 *
 * A partition that was given back or left behind is taken at once. A partition that nobody ever had is not taken in a
 * process's first look: a crash of Postgres may have emptied the table, and an owner claims its partition again in its
 * next look.
 *
 * All times are those of Postgres's clock.
 */
export async function claimWork(postgres: Pick<Postgres, 'query'>, request: ClaimRequest): Promise<Claims> {
  const { holder, partitions, busy, isLeaving } = request;
  const rows = await postgres.query<ClaimRow>(claimSql, [holder, partitions, busy, isLeaving], 'claim-work');
  const positionOf = ({ next_offset, block_parts }: ClaimRow) => {
    return { nextOffset: next_offset ?? 0n, blockParts: block_parts ?? 0 };
  };
  return {
    owned: new Set(rows.map(({ partition }) => partition)),
    surplus: new Set(rows.filter(({ is_surplus }) => is_surplus).map(({ partition }) => partition)),
    positions: new Map(rows.map((row) => [row.partition, positionOf(row)])),
  };
}

/** All parts see the tables as they were. Only a conflict is judged by what another process has committed. */
const claimSql = `
  with given as (
    select $1::text as holder, $2::integer as partitions, $3::integer[] as busy, $4::boolean as is_leaving
  ),
  others as (
    select c.holder, c.is_leaving from claimants c, given
    where c.holder <> given.holder and c.seen_at > now() - ${EXPIRY}
  ),
  seen as (
    insert into claimants (holder, seen_at, is_leaving) select holder, now(), is_leaving from given
    on conflict (holder) do update set seen_at = excluded.seen_at, is_leaving = excluded.is_leaving
  ),
  buried as (
    delete from claimants c using given where c.holder <> given.holder and c.seen_at < now() - interval '1 minute'
  ),
  places as (
    select p.partition, p.partition = any(given.busy) as is_busy, claims.holder as held_by,
      case
        when claims.partition is null then 'new'
        when claims.holder = given.holder then 'own'
        when claims.holder in (select holder from others) then 'taken'
        else 'free'
      end as state
    from given
    cross join generate_series(0, given.partitions - 1) as p (partition)
    left join claims on claims.partition = p.partition
  ),
  share as (
    select case when is_leaving then 0
      else ceil(partitions / (1.0 + (select count(*) from others where not is_leaving)))::integer end as size
    from given
  ),
  kept as (
    select partition, state from places where is_busy and state in ('own', 'new')
  ),
  wanted as (
    select partition from kept where state = 'new'
    union all
    (
      select places.partition from places, given
      where not is_busy
        and (state = 'free' or (state = 'new' and exists (select from claimants where claimants.holder = given.holder)))
      order by random()
      limit greatest(0, (select size from share) - (select count(*) from kept))
    )
  ),
  taken as (
    -- In one order, so that two processes never wait for each other.
    insert into claims (partition, holder)
    select wanted.partition, given.holder from wanted, given order by wanted.partition
    on conflict (partition) do update set holder = excluded.holder
      where claims.holder is null or claims.holder in (select held_by from places where state = 'free')
    returning partition
  ),
  returned as (
    update claims set holder = null from given where claims.holder = given.holder and claims.partition <> all(given.busy)
  ),
  owned as (
    select partition from kept where state = 'own' union all select partition from taken
  )
  select owned.partition, row_number() over (order by owned.partition) > size
      and (not is_leaving or exists (select from others where not others.is_leaving)) as is_surplus,
    next_offset, block_parts
  from owned cross join share cross join given left join projections using (partition)`;
