-- The maker's own limits, by the names of the facts; what is not there is as the service has it.
alter table makers add column limits jsonb not null default '{}' check (jsonb_typeof(limits) = 'object');
