import pg from 'pg';
import type { Postgres } from './connect-postgres.js';

/** The rights that a service needs on the tables, and no more. */
export interface Rights {
  /** Tables and views that it reads. */
  readonly reads: readonly string[];
  /** Rights to write, keyed by table, in the words of SQL. */
  readonly writes: Readonly<Record<string, string>>;
}

const whole = 'insert, update, delete';

/** Keyed by the role of the service: see `roleOf`. README.md shows them as a table. */
export const rights: Readonly<Record<string, Rights>> = {
  makerbook_projector: {
    reads: [
      ...['migrations', 'projections', 'makers', 'funding', 'orders', 'order_history', 'fills', 'hashes'],
      ...['in_flight', 'cancelling', 'claimants', 'claims'],
    ],
    writes: {
      projections: whole,
      makers: whole,
      funding: whole,
      orders: whole,
      order_history: whole,
      fills: whole,
      hashes: whole,
      in_flight: 'delete',
      cancelling: 'delete',
      claimants: whole,
      claims: whole,
    },
  },
  makerbook_ingress: {
    reads: [
      ...['projections', 'makers', 'orders', 'order_history', 'hashes', 'budgets', 'in_flight', 'cancelling'],
      ...['trust', 'trusted'],
    ],
    writes: { budgets: whole, in_flight: whole, cancelling: whole, trust: 'insert, update' },
  },
  makerbook_query: {
    reads: [
      ...[
        'projections',
        'makers',
        'orders',
        'order_history',
        'fills',
        'hashes',
        'budgets',
        'in_flight',
        'cancelling',
        'trusted',
      ],
    ],
    writes: {},
  },
  makerbook_chain_watcher: { reads: ['projections', 'makers', 'funding', 'orders'], writes: {} },
};

/** The role that a service connects as, if each service has its own: `chain-watcher` is `makerbook_chain_watcher`. */
export const roleOf = (service: string): string => `makerbook_${service.replaceAll('-', '_')}`;

/** The result of grantRights. */
export interface Granted {
  /** The roles that exist. None if all services connect as the owner. */
  readonly roles: readonly string[];
  /** True if the roles may make large objects. A superuser can take that away, the owner of a database cannot. */
  readonly mayMakeLargeObjects: boolean;
}

/** A superuser runs this in the database, so that no role fills the disk with large objects. */
export const NO_LARGE_OBJECTS =
  'revoke execute on function lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea) from public';

/**
 * Gives the existing roles of the services their rights on the tables of a schema. Takes away all other rights on these
 * tables, and the rights to make temporary tables and large objects.
 * @param client connected as the owner of the tables and of the database
 */
export async function grantRights(client: Pick<pg.ClientBase, 'query'>, schema: string): Promise<Granted> {
  const sql = 'select rolname from pg_roles where rolname = any($1) order by rolname';
  const { rows } = await client.query<{ rolname: string }>(sql, [Object.keys(rights)]);
  const tables = [...new Set(Object.values(rights).flatMap(({ reads }) => reads))];
  const list = (names: readonly string[]) => names.map((name) => pg.escapeIdentifier(name)).join(', ');
  for (const { rolname } of rows) {
    const { reads, writes } = rights[rolname] ?? { reads: [], writes: {} };
    const statements = [
      `revoke all on ${list(tables)} from ${rolname}`,
      `grant usage on schema ${pg.escapeIdentifier(schema)} to ${rolname}`,
      `grant select on ${list(reads)} to ${rolname}`,
      ...Object.entries(writes).map(([table, words]) => `grant ${words} on ${list([table])} to ${rolname}`),
    ];
    for (const statement of statements) await client.query(statement);
  }
  const roles = rows.map(({ rolname }) => rolname);
  return { roles, mayMakeLargeObjects: await denyStorage(client, roles) };
}

/** The rights that a role can have on a table, in the words of SQL. */
const words = ['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger'];

/**
 * The existing roles of the services, and how their rights on the tables of the schema differ from those that
 * grantRights gives. Needs no right of its own.
 */
export async function compareRights(
  postgres: Pick<Postgres, 'query'>,
): Promise<{ readonly roles: readonly string[]; readonly differences: readonly string[] }> {
  const found = await postgres.query<{ role: string; name: string; word: string }>(
    `select rolname as role, relname as name, word
     from pg_roles cross join pg_class cross join unnest($2::text[]) as word
     where rolname = any($1) and relnamespace = current_schema()::regnamespace and relkind = any('{r,v,m,p}')
       and has_table_privilege(rolname, pg_class.oid, word)`,
    [Object.keys(rights), words],
  );
  const there = await postgres.query<{ role: string }>(
    'select rolname as role from pg_roles where rolname = any($1) order by rolname',
    [Object.keys(rights)],
  );
  const roles = there.map(({ role }) => role);
  const actual = new Set(found.map(({ role, name, word }) => `${role} ${word} ${name}`));
  const wanted = new Set(
    roles.flatMap((role) => {
      const { reads, writes } = rights[role] ?? { reads: [], writes: {} };
      const written = Object.entries(writes).flatMap(([name, all]) => all.split(', ').map((word) => [word, name]));
      return [...reads.map((name) => ['select', name]), ...written].map(([word, name]) => `${role} ${word} ${name}`);
    }),
  );
  const tell = (one: string, verb: string) => one.replace(' ', ` ${verb} `);
  const differences = [
    ...[...wanted].filter((one) => !actual.has(one)).map((one) => tell(one, 'lacks')),
    ...[...actual].filter((one) => !wanted.has(one)).map((one) => tell(one, 'has too much:')),
  ];
  return { roles, differences };
}

/** Takes away the rights that every role begins with. @returns true if a role may still make large objects */
async function denyStorage(client: Pick<pg.ClientBase, 'query'>, roles: readonly string[]): Promise<boolean> {
  const readAny = async () => {
    const sql = `select current_database() as name, bool_or(has_database_privilege(role, current_database(), 'temporary')) as tables,
        bool_or(has_function_privilege(role, 'lo_create(oid)', 'execute')) as objects
      from unnest($1::text[]) as role`;
    const { rows } = await client.query<{ name: string; tables: boolean | null; objects: boolean | null }>(sql, [
      roles,
    ]);
    return rows[0];
  };
  const { name = '', tables, objects } = (await readAny()) ?? {};
  const from = ['public', ...roles].join(', ');
  if (tables) await client.query(`revoke temporary on database ${pg.escapeIdentifier(name)} from ${from}`);
  if (objects) await client.query(NO_LARGE_OBJECTS);
  return (await readAny())?.objects === true;
}
