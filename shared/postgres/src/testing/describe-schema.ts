import type { Postgres } from '../connect-postgres.js';

/**
 * The schema that the migrations add up to, as text, for a person to read and for a test to compare. It has one line
 * for each column, constraint and index, in an order that does not depend on history.
 */
export async function describeSchema(postgres: Postgres): Promise<string> {
  const rows = await postgres.query<{ line: string }>(describeSchemaSql);
  return `${rows.map(({ line }) => line).join('\n')}\n`;
}

const describeSchemaSql = `
  with tables as (
    select oid, relname, reloptions from pg_class
    where relnamespace = current_schema()::regnamespace and relkind = 'r'
  )
  select line from (
    select relname, 0 as kind, 0 as place,
      'table ' || relname || coalesce(' with (' || array_to_string(reloptions, ', ') || ')', '') as line
    from tables
    union all
    select relname, 1, attnum, '  ' || attname || ' ' || format_type(atttypid, atttypmod)
      || case when attnotnull then ' not null' else '' end
      || coalesce(' default ' || pg_get_expr(adbin, adrelid), '')
      || case when attstorage = typstorage then '' else ' storage ' || attstorage::text end
    from tables
      join pg_attribute on attrelid = tables.oid and attnum > 0 and not attisdropped
      join pg_type on pg_type.oid = atttypid
      left join pg_attrdef on adrelid = tables.oid and adnum = attnum
    union all
    select relname, 2, 0, '  ' || conname || ' ' || pg_get_constraintdef(pg_constraint.oid)
    from tables join pg_constraint on conrelid = tables.oid and contype <> 'n'
    union all
    select tables.relname, 3, 0, '  ' || replace(pg_get_indexdef(indexrelid), current_schema() || '.', '')
    from tables join pg_index on indrelid = tables.oid
  ) lines
  order by relname collate "C", kind, place, line collate "C"`;
