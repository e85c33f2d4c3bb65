-- The feed is published before the rows, facts are of another form, and no log of the old form exists: what was stored of
-- one is dropped, and the projection makes the rows from the log again.
truncate projections, makers, funding, orders, order_history, cancelled_hashes;

-- Each commit counts the version up, and so does an owner that takes the partition: no statement of an earlier owner, and
-- none that was given up and is still under way, commits after that. `next_index` is the number of feed messages of the fact
-- at `next_offset` that are done. It is above 0 in the middle of a block alone; `block_begun` tells a block of which makers
-- are done that led to no message.
alter table projections drop column pending;
alter table projections drop column slices;
alter table projections add column next_index integer not null default 0 check (next_index >= 0);
alter table projections add column block_begun boolean not null default false;
alter table projections add check (block_begun or next_index = 0);
alter table projections add column version bigint not null default 0 check (version >= 0);
alter table projections add column term bigint not null default 0 check (term >= 0);

-- A maker that could not be folded: from which fact on, why, and the partition's clock before that fact. Its orders are out
-- of the book, and nothing of it is due. The facts are folded when an operator lifts the quarantine.
alter table makers drop column nonce_is_watched;
alter table makers drop column halted_offset;
alter table makers add column quarantined_offset bigint check (quarantined_offset >= 0);
alter table makers add column quarantine_reason text;
alter table makers add column quarantine_clock jsonb;
alter table makers add check ((quarantined_offset is null) = (quarantine_reason is null));
alter table makers add check ((quarantined_offset is null) = (quarantine_clock is null));
alter table makers add check (quarantined_offset is null or due_at_seconds is null);
create index makers_quarantined on makers (partition) where quarantined_offset is not null;

-- Balance and allowance are read at one block.
alter table funding drop column balance_block;
alter table funding drop column allowance_block;
alter table funding add column block bigint check (block >= 0);
alter table funding add check ((balance is null) = (block is null));
alter table funding add check ((allowance is null) = (block is null));

-- An order is VALIDATING until it was read on the chain.
alter table orders drop column observed_block;
alter table orders add column is_observed boolean not null;
alter table orders add check (is_observed or status = 'VALIDATING');
