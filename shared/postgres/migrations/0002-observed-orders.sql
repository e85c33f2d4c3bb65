-- An order may have been filled or cancelled on-chain before it was posted: it stays VALIDATING until it was looked at
-- there. Of the last look this is the block; null: it is to be looked at. Those that were judged before this step had
-- their makers' funds read, and count as looked at up to the block that was folded last; the others are read again when
-- the watcher starts.
alter table orders add column observed_block bigint check (observed_block >= 0);
update orders set observed_block = coalesce(projections.block_number, 0) from projections
  where projections.partition = orders.partition and orders.status <> 'VALIDATING';
