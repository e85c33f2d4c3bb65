-- By its salt a maker finds what became of an order. Orders that were opened before this have none.
alter table order_history add column salt text;
alter table order_history add check (salt is null or happened = 'OPENED');
create index order_history_of_salt on order_history (maker, salt, log_offset) where salt is not null;
