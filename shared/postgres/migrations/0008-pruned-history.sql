-- The history of facts before this offset is pruned: of it only OPENED rows are left, until their orders have expired.
alter table projections add column history_from bigint not null default 0 check (history_from >= 0);
