import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { info, limitOrderRecords, type Problem, paths } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { findFreePort, startKafka } from '@makerbook/parts';
import type { HDNodeWallet } from 'ethers';
import { newWallet, openTestQuery, signList, type TestQuery } from './testing/open-test-query.js';

let running: TestQuery;
let wallet: HDNodeWallet;
let maker: Hex;

beforeAll(async () => {
  running = await openTestQuery();
  await until(async () => (await fetch(`${running.opsUrl}/readyz`)).ok);
});
afterAll(() => running.stop());
beforeEach(async () => {
  wallet = newWallet();
  maker = wallet.address.toLowerCase() as Hex;
});

const get = (query: URLSearchParams | string) => fetch(`${running.baseUrl}/v0alpha/limit-orders?${query}`);
const getSigned = async (options?: Parameters<typeof signList>[1]) => get(await signList(wallet, options));

async function hashesOf(response: Response): Promise<string[]> {
  expect([response.status, response.status === 200 ? '' : await response.clone().text()]).toEqual([200, '']);
  return limitOrderRecords.parse(await response.json()).map(({ orderHash }) => orderHash);
}

async function expectRefusal(response: Response, status: number, code: string): Promise<Problem> {
  const body = (await response.json()) as Problem;
  expect([response.status, body.code]).toEqual([status, code]);
  expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  expect(body).toMatchObject({ status, title: expect.any(String), type: expect.any(String) });
  expect(body.requestId).toBe(response.headers.get('x-request-id'));
  return body;
}

/** The whitelist reaches the service a moment after it was written. */
async function admit(): Promise<void> {
  await running.projector.admit(maker);
  await until(async () => (await getSigned()).status === 200);
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 90_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('it did not become true');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('a list request is refused', () => {
  test('as a replay also when Redis was flushed or is gone', async () => {
    await admit();
    const query = await signList(wallet);
    expect((await get(query)).status).toBe(200);
    await running.flush();
    await expectRefusal(await get(query), 403, 'request_replayed');
    await running.gates.redis.shut();
    try {
      await expectRefusal(await get(query), 403, 'request_replayed');
      const fresh = await signList(wallet);
      expect((await get(fresh)).status).toBe(200);
      await expectRefusal(await get(fresh), 403, 'request_replayed');
    } finally {
      await running.gates.redis.open();
    }
  });
});

describe('a maker’s list', () => {
  test('holds each order as it was signed, oldest first, and reason only where INACTIVE', async () => {
    await admit();
    const [first] = await running.projector.place(wallet);
    const [second] = await running.projector.place(wallet, {
      state: { status: 'INACTIVE', reason: 'INSUFFICIENT_BALANCE' },
    });
    const [third] = await running.projector.place(wallet, { state: { status: 'ACTIVE' } });
    await running.projector.project();
    for (const source of ['postgres', 'redis']) {
      const response = await getSigned();
      const records = limitOrderRecords.parse(JSON.parse(await response.clone().text()));
      expect([source, await hashesOf(response)]).toEqual([
        source,
        [first?.orderHash, second?.orderHash, third?.orderHash],
      ]);
      expect(records.map((record) => Object.keys(record))).toEqual([
        ['order', 'orderHash', 'signature', 'status'],
        ['order', 'orderHash', 'signature', 'status', 'reason'],
        ['order', 'orderHash', 'signature', 'status'],
      ]);
      expect(records[0]?.order.salt).toBe(`0x${first?.order.salt.toString(16)}`);
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(response.headers.get('content-length')).not.toBeNull();
      expect(response.headers.get('cache-control')).toBe('private, no-store');
      expect(response.headers.get('x-next-cursor')).toBeNull();
      expect(response.headers.get('x-read-lag')).toBeNull();
      expect(response.headers.get('ratelimit-policy')).toMatch(/"client"/);
    }
  });

  test('has an ETag that changes with it, by which an unchanged list is answered with 304', async () => {
    await admit();
    await running.projector.place(wallet, { count: 2 });
    await running.projector.project();
    const first = await getSigned();
    const etag = first.headers.get('etag') ?? '';
    const ask = async () =>
      fetch(`${running.baseUrl}/v0alpha/limit-orders?${await signList(wallet)}`, {
        headers: { 'if-none-match': etag },
      });
    const same = await ask();
    expect([same.status, await same.text(), same.headers.get('etag')]).toEqual([304, '', etag]);
    await running.flush();
    expect((await ask()).status).toBe(304);
    await running.projector.place(wallet);
    await running.projector.project();
    const changed = await ask();
    expect(changed.headers.get('etag')).not.toBe(etag);
    const version = ({ headers }: Response) => Number(headers.get('x-list-version'));
    expect(version(changed)).toBeGreaterThan(version(first));
    expect(await hashesOf(changed)).toHaveLength(3);
  });

  test('comes in pages, while orders come and go', async () => {
    await admit();
    const placed = await running.projector.place(wallet, { count: 5 });
    await running.projector.project();
    const page = async (cursor?: string | null) => {
      const query = await signList(wallet);
      query.set('limit', '2');
      if (cursor) query.set('cursor', cursor);
      const response = await get(query);
      return { hashes: await hashesOf(response), next: response.headers.get('x-next-cursor') };
    };
    const first = await page();
    expect(first.hashes).toEqual(placed.slice(0, 2).map(({ orderHash }) => orderHash));
    if (placed[1] && placed[2]) for (const gone of [placed[1], placed[2]]) await running.projector.cancel(gone);
    const [late] = await running.projector.place(wallet);
    await running.projector.project();
    const second = await page(first.next);
    expect(second.hashes).toEqual([placed[3]?.orderHash, placed[4]?.orderHash]);
    expect(await page(second.next)).toEqual({ hashes: [late?.orderHash], next: null });
  });
});

describe('a maker reads his own writes', () => {
  test('within a second, or sees how many of them the list does not show yet', async () => {
    await admit();
    const [old] = await running.projector.place(wallet);
    await running.projector.project();
    await getSigned();
    await running.projector.place(wallet, { count: 3 });
    if (old !== undefined) await running.projector.cancel(old);
    await running.projector.place(newWallet(), { count: 2 });
    const startedAt = Date.now();
    const response = await getSigned();
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(950);
    expect(Date.now() - startedAt).toBeLessThan(20_000);
    expect(response.headers.get('x-read-lag')).toBe('4');
    expect(await hashesOf(response)).toEqual([old?.orderHash]);
    await running.projector.project();
    expect(await hashesOf(await getSigned())).toHaveLength(3);
  });
});

describe('the list goes on', () => {
  test('without both there is no list that was not read before: 503, not ready, and the very same request succeeds later', async () => {
    await running.projector.place(wallet);
    await running.projector.project();
    const query = await signList(wallet);
    await running.gates.redis.shut();
    await running.gates.postgres.shut();
    await running.projector.admit(maker);
    await until(async () => (await getSigned()).status !== 403);
    try {
      const body = await expectRefusal(await get(query), 503, 'unavailable');
      expect(body.retryable).toBe(true);
      expect((await fetch(`${running.opsUrl}/readyz`)).status).toBe(503);
      expect((await fetch(`${running.opsUrl}/livez`)).status).toBe(200);
    } finally {
      await running.gates.redis.open();
      await running.gates.postgres.open();
    }
    await until(async () => (await fetch(`${running.opsUrl}/readyz`)).status === 200);
    expect(await hashesOf(await get(query))).toHaveLength(1);
  });
});

test('a service that starts while the log is away answers: alive, not ready, 503 that may be tried again', async () => {
  const alone = await openTestQuery({ KAFKA_BROKERS: '127.0.0.1:1' });
  try {
    const query = await signList(wallet);
    const response = await fetch(`${alone.baseUrl}/v0alpha/limit-orders?${query}`);
    expect((await expectRefusal(response, 503, 'unavailable')).retryable).toBe(true);
    expect((await fetch(`${alone.opsUrl}/livez`)).status).toBe(200);
    expect((await fetch(`${alone.opsUrl}/readyz`)).status).toBe(503);
  } finally {
    await alone.stop();
  }
});

describe('a service', () => {
  const listAt = async ({ baseUrl }: TestQuery) => fetch(`${baseUrl}/v0alpha/limit-orders?${await signList(wallet)}`);
  /** Places two orders, and returns their list. */
  async function placeAt(service: TestQuery): Promise<Response> {
    await service.projector.admit(maker);
    await until(async () => (await listAt(service)).status === 200);
    await service.projector.place(wallet, { count: 2 });
    await service.projector.project();
    return listAt(service);
  }

  test('without any Redis answers all the same, and refuses replays', async () => {
    const alone = await openTestQuery({ REDIS_URL: '' });
    try {
      expect(await hashesOf(await placeAt(alone))).toHaveLength(2);
      const query = await signList(wallet);
      const ask = () => fetch(`${alone.baseUrl}/v0alpha/limit-orders?${query}`);
      expect((await ask()).status).toBe(200);
      await expectRefusal(await ask(), 403, 'request_replayed');
      expect(await (await fetch(`${alone.opsUrl}/readyz`)).json()).toEqual({
        status: 'ok',
        checks: { whitelist: 'ok', kafka: 'ok', postgres: 'ok' },
      });
    } finally {
      await alone.stop();
    }
  });

  test('asks nothing of Kafka for a list: it is answered as fast while the brokers are frozen', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'makerbook-frozen-'));
    const kafka = await startKafka({ dataDir: join(folder, 'kafka'), port: await findFreePort() });
    const apart = await openTestQuery({}, { kafkaBrokers: kafka.brokers });
    try {
      await placeAt(apart);
      process.kill(kafka.pid, 'SIGSTOP');
      const startedAt = Date.now();
      for (let round = 0; round < 5; round += 1) {
        await apart.projector.place(wallet);
        await apart.projector.project();
        const response = await listAt(apart);
        expect(response.headers.get('x-read-lag')).toBeNull();
        expect(await hashesOf(response)).toHaveLength(3 + round);
      }
      // One time-out of the log's client takes longer than all of them.
      expect(Date.now() - startedAt).toBeLessThan(5_000);
    } finally {
      process.kill(kafka.pid, 'SIGCONT');
      await apart.stop();
      await kafka.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('the description of the service', () => {
  const read = async () => {
    const response = await fetch(`${running.baseUrl}${paths.info}`);
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'public, max-age=1']);
    return info.parse(await response.json());
  };

  test('names the block up to which every partition is projected, and none where that is not known', async () => {
    expect((await read()).block).toBeNull();
    await running.projector.project({ block: (partition) => (partition === 0 ? blockOf(12) : undefined) });
    await pause(1_100);
    expect((await read()).block).toBeNull();
    await running.projector.project({ block: (partition) => blockOf(partition === 0 ? 12 : 11) });
    await until(async () => (await read()).block?.number === 11);
    expect((await read()).block).toEqual(blockOf(11));
    await running.gates.postgres.shut();
    try {
      await until(async () => (await read()).block === null);
    } finally {
      await running.gates.postgres.open();
    }
  });
});

const blockOf = (number: number) => ({ number, timestamp: 1_800_000_000 + number });
