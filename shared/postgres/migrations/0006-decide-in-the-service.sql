-- Ingress decides about requests, and Postgres compares and stores. Rows that are in flight keep their meaning.
drop function place;
drop function find_orders;
drop function mark_cancelling;
drop function mark_all;
drop function mark_unplaced;
drop function instruct;
drop function standing;
drop function is_on;
drop function give_back;
drop function charge (bytea, boolean, integer, bigint, double precision, double precision);
drop function until_ms;

-- Each write that charges a budget draws a new one. What was decided is stored where it is as it was read.
alter table budgets add column version bigint not null default 0;

-- The request that has written the row, which deletes it if its append has certainly stored nothing. Null: an earlier release.
alter table in_flight add column request_id text;
alter table cancelling add column request_id text;
