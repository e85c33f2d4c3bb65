import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { info, limitOrderRecords, type Problem, paths } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { until } from '@makerbook/parts';
import { byteaOf } from '@makerbook/postgres';
import type { HDNodeWallet } from 'ethers';
import { openTestQuery, signRead, type TestQuery } from './testing/open-test-query.js';

let running: TestQuery;
let wallet: HDNodeWallet;

beforeAll(async () => {
  running = await openTestQuery();
  await until(running.isReady);
});
afterAll(() => running.stop());
beforeEach(async () => {
  wallet = await running.admitMaker();
});

const getSigned = (more?: string, init?: RequestInit) => running.ask('limitOrders', wallet, more, init);
/** The same request of a list, sent whenever it is called. */
async function repeating({ send }: TestQuery, of = wallet) {
  const query = await signRead(of, 'limitOrders');
  return () => send(`${paths.limitOrders}?${query}`);
}

async function hashesOf(response: Response): Promise<string[]> {
  expect([response.status, response.status === 200 ? '' : await response.clone().text()]).toEqual([200, '']);
  return limitOrderRecords.parse(await response.json()).map(({ orderHash }) => orderHash);
}

async function expectRefusal(response: Response, status: number, code: string): Promise<void> {
  const body = (await response.json()) as Problem;
  expect([response.status, body.code, body.retryable]).toEqual([status, code, status === 503]);
}

test('a list request is refused as a replay also when Redis was flushed or is gone', async () => {
  const again = await repeating(running);
  expect((await again()).status).toBe(200);
  await running.flush();
  await expectRefusal(await again(), 403, 'request_replayed');
  await running.gates.redis.shut();
  try {
    await expectRefusal(await again(), 403, 'request_replayed');
    const fresh = await repeating(running);
    expect((await fresh()).status).toBe(200);
    await expectRefusal(await fresh(), 403, 'request_replayed');
  } finally {
    await running.gates.redis.open();
  }
});

describe('a maker’s list', () => {
  test('holds each order as it was signed, oldest first, and reason only where INACTIVE', async () => {
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
    const page = await getSigned('&limit=1');
    expect(await hashesOf(page)).toEqual([first?.orderHash]);
    const rest = await getSigned(`&cursor=${page.headers.get('x-next-cursor')}`);
    expect(await hashesOf(rest)).toEqual([second?.orderHash, third?.orderHash]);
  });

  test('has an ETag that changes with it, by which an unchanged list is answered with 304', async () => {
    await running.projector.place(wallet, { count: 2 });
    await running.projector.project();
    const first = await getSigned();
    const etag = first.headers.get('etag') ?? '';
    const ask = () => getSigned('', { headers: { 'if-none-match': etag } });
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

  test('shows the dead-man’s switch while it is ahead', async () => {
    await running.projector.place(wallet);
    await running.projector.project();
    const shown = async (cancelAt: number) => {
      const maker = byteaOf(wallet.address.toLowerCase() as Hex);
      await running.postgres.query('update makers set exits = $1 where maker = $2', [{ cancelAt }, maker]);
      return (await getSigned()).headers.get('x-cancel-all-at');
    };
    expect([await shown(4_000_000_000), await shown(1), await shown(0)]).toEqual(['4000000000', null, null]);
  });
});

test('a maker reads his own writes within a second, or sees how many of them the list does not show yet', async () => {
  const [old] = await running.projector.place(wallet);
  await running.projector.project();
  await running.projector.place(wallet, { count: 3 });
  if (old !== undefined) await running.projector.cancel(old);
  const startedAt = Date.now();
  const response = await getSigned();
  expect(Date.now() - startedAt).toBeGreaterThanOrEqual(950);
  expect(response.headers.get('x-read-lag')).toBe('4');
  expect(await hashesOf(response)).toEqual([old?.orderHash]);
  await running.projector.project();
  expect(await hashesOf(await getSigned())).toHaveLength(3);
});

test('a service that starts while the log is away answers: alive, not ready, 503 that may be tried again', async () => {
  const alone = await openTestQuery({ KAFKA_BROKERS: '127.0.0.1:1' });
  try {
    await expectRefusal(await alone.ask('limitOrders', wallet), 503, 'unavailable');
    expect((await fetch(`${alone.opsUrl}/livez`)).status).toBe(200);
    expect(await alone.isReady()).toBe(false);
  } finally {
    await alone.stop();
  }
});

test('a service without any Redis answers all the same, and refuses replays', async () => {
  const alone = await openTestQuery({ REDIS_URL: '' });
  try {
    const maker = await alone.admitMaker();
    await alone.projector.place(maker, { count: 2 });
    await alone.projector.project();
    const again = await repeating(alone, maker);
    expect(await hashesOf(await again())).toHaveLength(2);
    await expectRefusal(await again(), 403, 'request_replayed');
    expect(await (await fetch(`${alone.opsUrl}/readyz`)).json()).toEqual({
      status: 'ok',
      checks: { whitelist: 'ok', kafka: 'ok', postgres: 'ok' },
    });
  } finally {
    await alone.stop();
  }
});

const read = async () => {
  const response = await running.send(paths.info);
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'public, max-age=1']);
  return info.parse(await response.json());
};

test('the description of the service names the block up to which every partition is projected, and none where that is not known', async () => {
  expect((await read()).block).toBeNull();
  await running.projector.project({ block: (partition) => (partition === 0 ? blockOf(12) : undefined) });
  // The last one is kept for a second.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
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

const blockOf = (number: number) => ({ number, timestamp: 1_800_000_000 + number });
