-- Hashes that their maker cancelled before the order was accepted, or that never were: a cancellation can come to stand
-- before its order in the log. Such an order is removed as soon as it is accepted. Rows are rare, and none is ever deleted.
create table cancelled_hashes (
  maker bytea not null check (octet_length(maker) = 20),
  expires_at_seconds bigint not null check (expires_at_seconds >= 0),
  order_hash bytea not null check (octet_length(order_hash) = 32),
  partition integer not null check (partition >= 0),
  -- Where the first cancellation stands.
  log_offset bigint not null check (log_offset >= 0),
  primary key (maker, expires_at_seconds, order_hash)
);
