-- Creates a role for each service with its current password, and a limit of connections for two processes. The Job migrate grants the rights (shared/postgres/README.md).
\set ON_ERROR_STOP on
\getenv ingress INGRESS_PASSWORD
\getenv query QUERY_PASSWORD
\getenv projector PROJECTOR_PASSWORD
\getenv chain_watcher CHAIN_WATCHER_PASSWORD
select format('create role makerbook_%s login', name)
  from unnest(array['ingress', 'query', 'projector', 'chain_watcher']) as name
  where not exists (select from pg_roles where rolname = 'makerbook_' || name) \gexec
alter role makerbook_ingress connection limit 20 password :'ingress';
alter role makerbook_query connection limit 20 password :'query';
alter role makerbook_projector connection limit 22 password :'projector';
alter role makerbook_chain_watcher connection limit 2 password :'chain_watcher';
