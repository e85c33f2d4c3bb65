-- An order may have been filled or cancelled on-chain before it was posted: it stays VALIDATING until it was looked at
-- there. Those that were judged before this step had their makers' funds read, and count as looked at; the others are
-- read again when the watcher starts.
alter table orders add column is_observed boolean not null default false;
update orders set is_observed = true where status <> 'VALIDATING';
