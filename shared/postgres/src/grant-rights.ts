import pg from 'pg';

/** What a service needs of the rows, and nothing beyond it. */
export interface Rights {
  /** Tables and views that it reads. */
  readonly reads: readonly string[];
  /** Rights to write, by table, in the words of SQL. */
  readonly writes: Readonly<Record<string, string>>;
}

const whole = 'insert, update, delete';

/** By the role of the service: see `roleOf`. README.md has them as a table. */
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
    reads: [...['projections', 'makers', 'orders', 'hashes', 'budgets', 'in_flight', 'cancelling', 'trust', 'trusted']],
    writes: { budgets: whole, in_flight: whole, cancelling: whole, trust: 'insert, update' },
  },
  makerbook_query: {
    reads: [
      ...['projections', 'makers', 'orders', 'order_history', 'fills', 'hashes', 'in_flight', 'cancelling', 'trusted'],
    ],
    writes: {},
  },
  makerbook_chain_watcher: { reads: ['projections', 'makers', 'funding', 'orders'], writes: {} },
};

/** The role that a service connects as, where the roles are divided: `chain-watcher` is `makerbook_chain_watcher`. */
export const roleOf = (service: string): string => `makerbook_${service.replaceAll('-', '_')}`;

/**
 * Gives the roles of the services that the server has their rights on the tables of a schema, and takes away all others.
 * @param client of the owner of the tables
 * @returns the roles that exist; none where all services connect as the owner
 */
export async function grantRights(client: Pick<pg.ClientBase, 'query'>, schema: string): Promise<string[]> {
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
  return rows.map(({ rolname }) => rolname);
}
