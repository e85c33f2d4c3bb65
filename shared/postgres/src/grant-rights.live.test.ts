import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createRoles, testParts } from '@makerbook/parts';
import {
  claimWork,
  connectPostgres,
  migrate,
  openPlacementStore,
  openProjectionStore,
  openReadModel,
  type Postgres,
  pruneHashes,
  pruneHistory,
  readOpenOrders,
  rights,
  roleOf,
  verifySchema,
} from './index.js';
import { describeRights } from './testing/index.js';
import { addressOf, hashOf, insertRow } from './testing/open-test-database.js';

const SLOW = { connectTimeoutMs: 60_000, statementTimeoutMs: 60_000 };
const NOW = 1_700_000_000_000;
const services = ['ingress', 'query', 'chain-watcher', 'projector'] as const;
type Service = (typeof services)[number];
const maker = addressOf(1);

let databaseUrl: string;
let owner: Postgres;
const connections = new Map<string, Postgres>();
const as = (service: Service): Postgres => connections.get(roleOf(service)) as Postgres;

beforeAll(async () => {
  databaseUrl = await testParts().databaseUrl();
  const urls = await createRoles(databaseUrl, Object.keys(rights));
  await migrate({ url: databaseUrl, ...SLOW });
  owner = connectPostgres({ url: databaseUrl, ...SLOW });
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

test('the README has the rights of each role, and no other', () => {
  expect(readFileSync(new URL('../README.md', import.meta.url), 'utf8')).toContain(describeRights());
});

describe('a service does its work by the rights of its role', () => {
  test('ingress', async () => {
    const store = openPlacementStore(as('ingress'));
    const times = { nowMs: NOW, lastsMs: 8000 };
    const budget = { ratePerSecond: 100, burst: 1000 };
    const { sinceMs } = await store.beginTrust(NOW - 1000);
    await store.endTrust(sinceMs);
    const orders = [
      { orderHash: hashOf(1), makerIndex: 0, salt: '0x7', nonce: 0n, expiresAtSeconds: NOW / 1000 + 60 },
    ] as const;
    const request = {
      ...times,
      receivedAtMs: NOW,
      rememberedMax: 10,
      chargeOnly: false,
      firstRepeatAt: undefined,
      orders,
    };
    const makers = [{ maker, partition: 3, budget, openOrdersMax: 10 }];
    expect(await store.place({ ...request, makers })).toMatchObject({ kind: 'placed' });
    expect(await store.findOrders([hashOf(1), hashOf(2)], NOW, true)).toMatchObject([
      { state: 'FOUND' },
      { state: 'UNKNOWN' },
    ]);
    const hashes = [{ orderHash: hashOf(1), makerIndex: 0 }];
    const marked = await store.markCancelling({ ...times, budget, makers, hashes });
    expect(marked).toMatchObject({ kind: 'marked' });
    const scope = { untilMs: NOW, mark: hashOf(9) };
    expect(await store.markAll({ ...times, budget, maker, partition: 3, count: 1, scope })).toMatchObject({
      kind: 'marked',
    });
    if (marked.kind === 'marked') await store.release([hashOf(1)], marked.untilMs);
    await store.forgetNotes(NOW + 1);
    await openReadModel(as('ingress')).projectedPositions();
  });

  test('query', async () => {
    const rows = openReadModel(as('query'));
    await rows.projectedPositions();
    await rows.readListState(maker);
    await rows.readMakerList(maker);
    await rows.readListChanges(maker, 0n);
    await rows.readOrderHistory(maker, hashOf(1), 10);
    await rows.readPartitionClocks();
    await rows.readNews({ partition: 3, makers: [maker], from: 0n, to: 9n, entriesMax: 10 });
  });

  test('chain-watcher', async () => {
    await readOpenOrders(as('chain-watcher'), () => undefined);
  });

  test('projector', async () => {
    await verifySchema(as('projector'));
    const store = openProjectionStore(as('projector'), 1);
    const { projection } = await store.takeProjection(4);
    const row = { maker, partition: 4 };
    await store.saveProjection({
      partition: 4,
      from: projection,
      to: { ...projection, nextOffset: 1n },
      forgetsEnded: true,
      makers: [],
      funding: [],
      fundingDropped: [{ maker, token: addressOf(2) }],
      opened: [],
      changed: [],
      removed: [hashOf(1)],
      history: [],
      fills: [],
      hashes: [],
      submitted: [{ orderHash: hashOf(1), maker: row.maker }],
      settled: [{ orderHash: hashOf(1), maker: row.maker }],
    });
    await claimWork(as('projector'), { holder: '1', partitions: 6, busy: [], isLeaving: false });
    await pruneHistory(as('projector'), 4, 1n);
    await pruneHashes(as('projector'), 4, 1);
  });
});

describe('and is refused the rest', () => {
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

  test.each<[Service, string]>([
    ['query', 'update orders set remaining = 1'],
    ['projector', 'drop table orders'],
    ['projector', 'alter table orders disable trigger all'],
    ['ingress', 'create table mine ()'],
    ['query', 'create role other'],
  ])('%s: %s', async (service, sql) => {
    await expect(as(service).query(sql)).rejects.toThrow(/permission denied|must be owner/);
  });
});

test('a migration takes back what a role was given beside its rights', async () => {
  await owner.query(`grant delete on orders to ${roleOf('query')}`);
  await as('query').query('delete from orders where false');
  await migrate({ url: databaseUrl, ...SLOW });
  await expect(as('query').query('delete from orders where false')).rejects.toThrow('permission denied');
});
