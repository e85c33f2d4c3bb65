import { expect, test } from '@jest/globals';
import type { SignedOrder } from '@makerbook/client';
import type { Hex } from '@makerbook/contracts-primitives';
import { byteaOf } from '@makerbook/postgres';
import { eventually } from '../kit/eventually.js';
import { requestMaker } from '../kit/make-requests.js';
import { openMakers, type TestMaker } from '../kit/open-maker.js';
import type { WholeStack } from './open-whole.js';

const noAllowance = 'INACTIVE INSUFFICIENT_ALLOWANCE';

/** Tests what a maker is told beside the records: in headers, and if something is not known or not kept. */
export function testReads(whole: () => WholeStack): void {
  /** Opens a maker with this many orders that have been read, and gives its lists with their headers. */
  async function openLister(count: number) {
    const { stack, chain } = whole();
    const [maker] = (await openMakers(stack, chain, 1)) as [TestMaker];
    const orders = await maker.place(...Array(count).fill({}));
    await maker.lists(orders, Array(count).fill(noAllowance));
    const make = requestMaker(stack.addresses);
    const list = async (more = '', headers = {}, { target } = make.list(maker.wallet)) => {
      const answer = await fetch(`${stack.addresses.baseUrl}${target}${more}`, { headers });
      const body = await answer.text();
      return { status: answer.status, headers: answer.headers, body };
    };
    return { maker, orders, hashes: orders.map(({ orderHash }) => orderHash), list, make };
  }
  const hashesOf = (body: string) => (JSON.parse(body) as SignedOrder[]).map(({ orderHash }) => orderHash);

  test('a list comes oldest first, in pages, with a version and an ETag, and says when the switch will cancel all', async () => {
    const { maker, orders, hashes, list } = await openLister(3);
    const { headers, body } = await list();
    expect(hashesOf(body)).toEqual(hashes);
    const told = ['content-type', 'cache-control', 'x-next-cursor', 'x-read-lag', 'x-cancel-all-at'];
    const expected = ['application/json; charset=utf-8', 'private, no-store', null, null, null];
    expect(told.map((name) => headers.get(name))).toEqual(expected);
    const etag = headers.get('etag') ?? '';
    const same = await list('', { 'If-None-Match': etag });
    expect([same.status, same.body, same.headers.get('etag')]).toEqual([304, '', etag]);
    const open = '&status=VALIDATING,ACTIVE,INACTIVE';
    const { headers: ofOpen } = await list(open);
    expect((await list(open, { 'If-None-Match': `"0", ${ofOpen.get('etag')}` })).status).toBe(304);
    const page = await list('&limit=1');
    const rest = await list(`&cursor=${page.headers.get('x-next-cursor')}`);
    expect([hashesOf(page.body), hashesOf(rest.body)]).toEqual([hashes.slice(0, 1), hashes.slice(1)]);

    const cancelAt = Math.floor(Date.now() / 1000) + 600;
    await maker.client.sendHeartbeat(cancelAt);
    expect((await list()).headers.get('x-cancel-all-at')).toBe(String(cancelAt));
    const [first] = orders as [SignedOrder];
    await maker.client.cancelOrders([{ orderHash: first.orderHash, salt: first.order.salt }]);
    await maker.lists([first], ['gone']);
    const changed = await list('', { 'If-None-Match': etag });
    expect([changed.status, hashesOf(changed.body)]).toEqual([200, hashes.slice(1)]);
    const version = (given: Headers) => Number(given.get('x-list-version'));
    expect(version(changed.headers)).toBeGreaterThan(version(headers));
  });

  test('a list waits for its maker’s own writes, and says how many of them it does not show', async () => {
    const { maker, orders, hashes, list } = await openLister(1);
    const [old] = orders as [SignedOrder];
    await whole().stack.freeze('projector');
    try {
      await maker.place({}, {}, {});
      await maker.client.cancelOrders([{ orderHash: old.orderHash, salt: old.order.salt }]);
      const startedAt = performance.now();
      const { headers, body } = await list();
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(950);
      expect([headers.get('x-read-lag'), hashesOf(body)]).toEqual(['4', hashes]);
      const [young] = await maker.place({});
      await expect(maker.client.findOrder(young?.orderHash ?? '')).rejects.toMatchObject({ code: 'unavailable' });
    } finally {
      whole().stack.signal('SIGCONT', 'projector');
    }
    await eventually(async () => hashesOf((await list()).body).length, 4);
  });

  test('a cursor is one of list, history and stream, and waits while it is ahead of the rows', async () => {
    const { maker, list, make } = await openLister(2);
    const { nextCursor } = await maker.client.readHistory();
    const [partition, log, offset] = nextCursor.split(':');
    expect((await list('&limit=1')).headers.get('x-next-cursor')).toMatch(new RegExp(`^${partition}:${log}:[0-9]+$`));
    const leaving = new AbortController();
    for await (const { id } of maker.client.streamOrders({ signal: leaving.signal })) {
      expect(id).toMatch(new RegExp(`^${partition}:${log}:[0-9]+$`));
      leaving.abort();
    }
    const ahead = `${partition}:${log}:${Number(offset) + 1_000_000}`;
    for (const asked of [make.list(maker.wallet), make.history(maker.wallet), make.stream(maker.wallet)]) {
      const { status, headers } = await list(`&cursor=${ahead}`, {}, asked);
      expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    }
  });

  test('an order whose history is pruned is gone, and so is a page behind what is pruned', async () => {
    const { postgres, stack } = whole();
    const { maker, hashes } = await openLister(1);
    const [hash = ''] = hashes;
    const other: Hex = `0x${'00'.repeat(32)}`;
    const rename = (from: string, to: string) =>
      postgres.query('update order_history set order_hash = $2 where order_hash = $1', [
        byteaOf(from as Hex),
        byteaOf(to as Hex),
      ]);
    const codeOf = (asked: Promise<unknown>) => asked.catch(({ code }: { code?: string }) => code);
    await rename(hash, other);
    try {
      expect(await codeOf(maker.client.findOrder(hash))).toBe('gone');
    } finally {
      await rename(other, hash);
    }
    expect(await maker.client.findOrder(hash)).toMatchObject({ orderHash: hash });

    const kept = await postgres.query<{ partition: number; history_from: bigint }>(
      'select partition, history_from from projections',
    );
    const { nextCursor } = await maker.client.readHistory({ limit: 1 });
    await postgres.query('update projections set history_from = next_offset');
    try {
      expect(await codeOf(maker.client.readHistory({ cursor: nextCursor }))).toBe('gone');
      expect(await codeOf(maker.client.readHistory())).toHaveProperty('entries');
    } finally {
      for (const { partition, history_from } of kept)
        await postgres.query('update projections set history_from = $2 where partition = $1', [
          partition,
          history_from,
        ]);
    }

    for (const path of [`/orders/${other}`, `/makers/${other}`])
      expect([path, (await fetch(`${stack.opsUrl('query')}${path}`)).status]).toEqual([path, 404]);
  });
}
