-- A block at which more orders are due than one commit may hold is committed in slices. The position stays before the
-- block until the last of them; this counts those that were committed, so that of two owners one commits each.
alter table projections add column slices integer not null default 0 check (slices >= 0);
