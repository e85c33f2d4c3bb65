-- A block that could not be folded for one maker: its offset. Such a maker is halted: its orders are out of the router's
-- book, and blocks pass it over (nothing is due) until a fact about it is folded. Null: all is well.
alter table makers add column halted_offset bigint check (halted_offset >= 0);
create index makers_halted on makers (partition) where halted_offset is not null;
