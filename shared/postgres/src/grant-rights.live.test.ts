import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createRoles, testParts } from '@makerbook/parts';
import pg from 'pg';
import { connectPostgres, type Granted, migrate, NO_LARGE_OBJECTS, type Postgres, rights, roleOf } from './index.js';
import { describeRights } from './testing/index.js';
import { addressOf, insertRow } from './testing/open-test-database.js';

const SLOW = { connectTimeoutMs: 60_000, statementTimeoutMs: 60_000 };
const services = ['ingress', 'query', 'chain-watcher', 'projector'] as const;
type Service = (typeof services)[number];
const maker = addressOf(1);

let databaseUrl: string;
let owner: Postgres;
let ownerName: string;
const connections = new Map<string, Postgres>();
const as = (service: Service): Postgres => connections.get(roleOf(service)) as Postgres;

beforeAll(async () => {
  databaseUrl = await testParts().databaseUrl();
  const urls = await createRoles(databaseUrl, Object.keys(rights));
  await migrate({ url: databaseUrl, ...SLOW });
  owner = connectPostgres({ url: databaseUrl, ...SLOW });
  ownerName = new URL(databaseUrl).username;
  for (const [role, own] of Object.entries(urls)) connections.set(role, connectPostgres({ url: own, ...SLOW }));
  await insertRow(owner, 'makers', { maker });
  await owner.query('insert into projections (partition) values (3)');
});
afterAll(async () => {
  for (const connection of connections.values()) await connection.close();
  await owner.close();
});

test('each service has a role', () => {
  expect(Object.keys(rights).sort()).toEqual(services.map(roleOf).sort());
});

test('the README lists the rights of each role', () => {
  expect(readFileSync(new URL('../README.md', import.meta.url), 'utf8')).toContain(describeRights());
});

describe('a service is refused what it does not need', () => {
  test.each(services)('%s has exactly the rights that are written down', async (service) => {
    const { reads = [], writes = {} } = rights[roleOf(service)] ?? {};
    const rows = await owner.query<{ name: string; words: string[] }>(
      `select relname as name, array(
         select word from unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as word
         where has_table_privilege($1, oid, word)) as words
       from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'v') order by relname`,
      [roleOf(service)],
    );
    const wanted = rows.map(({ name }) => ({
      name,
      words: [...(reads.includes(name) ? ['select'] : []), ...(writes[name]?.split(', ') ?? [])],
    }));
    expect(rows.length).toBeGreaterThan(10);
    expect(rows).toEqual(wanted);
  });

  test.each(services)('%s may run no statement that no service needs', async (service) => {
    const role = roleOf(service);
    const forbidden = [
      // Storage besides the tables.
      'create temporary table mine (a int)',
      'select * into temporary mine from projections',
      'select lo_creat(-1)',
      'select lo_create(0)',
      "select lo_from_bytea(0, 'a')",
      'create table mine ()',
      'create sequence mine',
      'create schema mine',
      'create database mine',
      // The tables themselves.
      'drop table orders',
      'alter table orders add column mine int',
      'alter table orders disable trigger all',
      'create index on orders (remaining)',
      'truncate orders',
      'update migrations set checksum = checksum',
      // Code and settings that others run by.
      'create function mine() returns int return 1',
      'create extension dblink',
      'alter system set fsync = off',
      'alter database postgres set fsync = off',
      'set session_replication_role = replica',
      // Other roles, and its own bounds.
      'create role other',
      `alter role ${role} superuser`,
      `alter role ${role} connection limit -1`,
      `set role ${pg.escapeIdentifier(ownerName)}`,
      'select rolpassword from pg_authid',
      // The machine.
      "copy projections to program 'true'",
      "select pg_read_file('/etc/hostname')",
    ];
    expect(forbidden).toHaveLength(27);
    for (const sql of forbidden) {
      const outcome = await as(service)
        .query(sql)
        .then(
          () => 'done',
          (error: Error) => error.message,
        );
      expect([sql, outcome]).toEqual([sql, expect.stringMatching(/permission denied|must be owner/)]);
    }
  });

  test.each(services)('%s is not a superuser and not a member of another role', async (service) => {
    const attributes = ['rolsuper', 'rolcreaterole', 'rolcreatedb', 'rolreplication', 'rolbypassrls'];
    const [role] = await owner.query<Record<string, boolean>>(
      `select ${attributes.join(', ')}, exists (select from pg_auth_members where member = oid) as is_member
       from pg_roles where rolname = $1`,
      [roleOf(service)],
    );
    expect(role).toEqual(Object.fromEntries([...attributes, 'is_member'].map((name) => [name, false])));
  });
});

test('a migration revokes what a role was granted beyond its rights', async () => {
  await owner.query(`grant delete on orders to ${roleOf('query')}`);
  await as('query').query('delete from orders where false');
  await migrate({ url: databaseUrl, ...SLOW });
  await expect(as('query').query('delete from orders where false')).rejects.toThrow('permission denied');
});

test('an owner that is not a superuser cannot revoke large objects, and is told so', async () => {
  const url = await testParts().databaseUrl();
  const { plain_owner: ownUrl } = await createRoles(url, ['plain_owner']);
  const superuser = connectPostgres({ url, ...SLOW });
  const database = pg.escapeIdentifier(new URL(url).pathname.slice(1));
  await superuser.query(`alter database ${database} owner to plain_owner`);
  await superuser.query('grant create on schema public to plain_owner');
  const said: Granted[] = [];
  const migrateAsOwner = () => migrate({ url: ownUrl, ...SLOW, onGranted: (granted) => said.push(granted) });
  await migrateAsOwner();
  await superuser.query(NO_LARGE_OBJECTS);
  await migrateAsOwner();
  await superuser.close();
  expect(said.map(({ mayMakeLargeObjects }) => mayMakeLargeObjects)).toEqual([true, false]);
});
