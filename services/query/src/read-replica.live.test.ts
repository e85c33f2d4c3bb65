import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { limitOrderRecords } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { findFreePorts, openTcpGate, type PostgresPart, startPostgres, type TcpGate } from '@makerbook/parts';
import { connectPostgres, type Postgres } from '@makerbook/postgres';
import type { HDNodeWallet } from 'ethers';
import { newWallet, openTestQuery, signList, type TestQuery } from './testing/open-test-query.js';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-replica-'));
const servers: PostgresPart[] = [];
let standby: Postgres;
let replicaGate: TcpGate;
let running: TestQuery;
let wallet: HDNodeWallet;
let maker: Hex;

beforeAll(async () => {
  const [port = 0, standbyPort = 0] = await findFreePorts(2);
  const [dataDir, copyDir] = [join(folder, 'primary'), join(folder, 'standby')];
  // A server that has stopped may be copied file by file.
  await (await startPostgres({ dataDir, port })).stop();
  execFileSync('cp', ['-a', dataDir, copyDir]);
  const primary = await startPostgres({ dataDir, port });
  servers.push(primary);
  const copy = await startPostgres({
    dataDir: copyDir,
    port: standbyPort,
    settings: { primary_conninfo: `host=127.0.0.1 port=${port} user=makerbook password=makerbook` },
    files: { 'standby.signal': '' },
  });
  servers.push(copy);
  standby = connectPostgres({ url: copy.url, connectTimeoutMs: 60_000, statementTimeoutMs: 60_000 });
  replicaGate = await openTcpGate(copy.url);
  running = await openTestQuery({ DATABASE_REPLICA_URL: replicaGate.url }, primary.url);
  // Lists come from Postgres alone.
  await running.gates.redis.shut();
});
afterAll(async () => {
  await running?.stop();
  await standby?.close();
  await replicaGate?.close();
  for (const server of servers.reverse()) await server.stop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  wallet = newWallet();
  maker = wallet.address.toLowerCase() as Hex;
  await running.projector.admit(maker);
  await until('the maker is on the whitelist', async () => (await get()).status === 200);
});

const get = async () => fetch(`${running.baseUrl}/v0alpha/limit-orders?${await signList(wallet)}`);

async function readList(): Promise<{ hashes: string[]; lag: string | null }> {
  const response = await get();
  expect(response.status).toBe(200);
  const records = limitOrderRecords.parse(await response.json());
  return { hashes: records.map(({ orderHash }) => orderHash), lag: response.headers.get('x-read-lag') };
}

/** Places an order and projects it. */
async function place(): Promise<string> {
  const [placed] = await running.projector.place(wallet);
  await running.projector.project();
  return placed?.orderHash ?? '';
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 90_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not within 90 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function hasReplayed(orderHash: string): Promise<boolean> {
  const found = await standby.query('select from orders where order_hash = $1', [`\\x${orderHash.slice(2)}`]);
  return found.length === 1;
}

async function pauseReplay(): Promise<void> {
  await standby.query('select pg_wal_replay_pause()');
  await until('the replica is paused', async () => {
    const [row] = await standby.query<{ state: string }>('select pg_get_wal_replay_pause_state() as state');
    return row?.state === 'paused';
  });
}
const resumeReplay = () => standby.query('select pg_wal_replay_resume()');

test('a list is read from the replica, also while the primary is away', async () => {
  const orderHash = await place();
  await until('the replica has the order', () => hasReplayed(orderHash));
  await running.gates.postgres.shut();
  try {
    expect(await readList()).toEqual({ hashes: [orderHash], lag: null });
    expect((await fetch(`${running.opsUrl}/readyz`)).status).toBe(200);
  } finally {
    await running.gates.postgres.open();
  }
});

test('a replica that is behind what was answered is passed over: the primary has it', async () => {
  const first = await place();
  await until('the replica has the order', () => hasReplayed(first));
  await pauseReplay();
  try {
    const second = await place();
    expect(await hasReplayed(second)).toBe(false);
    expect(await readList()).toEqual({ hashes: [first, second], lag: null });
    await running.gates.postgres.shut();
    const late = await readList();
    expect(late.hashes).toEqual([first]);
    expect(Number(late.lag)).toBeGreaterThan(0);
  } finally {
    await running.gates.postgres.open();
    await resumeReplay();
  }
});

test('without its replica the service reads from the primary, and reports it', async () => {
  await replicaGate.shut();
  try {
    const orderHash = await place();
    expect(await readList()).toEqual({ hashes: [orderHash], lag: null });
    const health = await fetch(`${running.opsUrl}/readyz`);
    expect([health.status, await health.json()]).toMatchObject([
      200,
      { checks: { postgres: 'ok', replica: 'is away: its reads go to the primary' } },
    ]);
  } finally {
    await replicaGate.open();
  }
});
