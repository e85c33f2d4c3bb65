import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MakerbookError, type SignedOrder } from '@makerbook/client';
import { childrenOf } from '@makerbook/parts';
import { eventually } from '../kit/eventually.js';
import { cancelling, requestMaker } from '../kit/make-requests.js';
import { type OpenStack, openStack } from '../kit/open-stack.js';
import { openChain, openMaker, type TestChain, type TestMaker } from './open-maker.js';

const answerMsMax = 30_000;
const pauseMs = 40;
/** The load of a minute must not end at a maker's limits. */
const settings = {
  MAX_OPEN_ORDERS_PER_MAKER: '10000',
  ORDER_BUDGET_BURST: '10000',
  ORDER_BUDGET_PER_SECOND: '1000',
  CLIENT_REQUESTS_MAX: '100000',
};
let stack: OpenStack;
let chain: TestChain;

beforeAll(async () => {
  stack = await openStack({ ownParts: true, settings });
  chain = openChain(stack);
});

afterAll(async () => {
  chain?.stop();
  await stack?.stop();
});

async function funded(): Promise<TestMaker> {
  const maker = await openMaker(stack, chain);
  await maker.mint(1_000_000n);
  await maker.approve(1_000_000n);
  return maker;
}

/** One POST of the load, and what came of it. */
interface Try {
  readonly orders: SignedOrder[];
  readonly outcome: 'stored' | MakerbookError['code'];
  readonly tookMs: number;
  /** What a list said of the orders that was asked for right after a 200. */
  readonly list: 'all there' | 'missing' | 'behind' | 'unanswered' | undefined;
}

/** Runs some work while three orders at a time are posted, over and over; hands back what came of each POST. */
async function whilePosting(maker: TestMaker, work: (until: Until) => Promise<void>): Promise<Try[]> {
  const load = keepPosting(maker);
  try {
    await work(load.until);
  } finally {
    await load.stop();
  }
  return load.tries;
}

/** Waits until a try with one of these outcomes began after this call and ended. */
type Until = (...outcomes: Try['outcome'][]) => Promise<void>;

function keepPosting(maker: TestMaker) {
  const tries: Try[] = [];
  let goOn = true;
  const done = (async () => {
    while (goOn) {
      const expiresAt = Math.floor(Date.now() / 1000) + 7200;
      const orders = await Promise.all([1n, 2n, 3n].map((amount) => maker.sign({ amount, expiresAt })));
      const startedAt = performance.now();
      const outcome = await maker.client.placeOrders(orders).then(
        () => 'stored' as const,
        (error: unknown) => {
          if (error instanceof MakerbookError) return error.code;
          throw error;
        },
      );
      const tookMs = performance.now() - startedAt;
      const list = outcome === 'stored' ? await look(maker, orders) : undefined;
      tries.push({ orders, outcome, tookMs, list });
      await pause(pauseMs);
    }
  })();
  // It is awaited below; until then a failure of it must not end the run.
  done.catch(() => undefined);
  return {
    tries,
    async until(...outcomes: Try['outcome'][]): Promise<void> {
      const before = tries.length;
      const isThere = () => tries.slice(before + 1).some(({ outcome }) => outcomes.includes(outcome));
      await eventually(async () => isThere() || tries.at(-1)?.outcome, true);
    },
    async stop(): Promise<void> {
      goOn = false;
      await done;
    },
  };
}

/** A list that does not say that it is behind holds what was answered with 200 before. */
async function look(maker: TestMaker, orders: readonly SignedOrder[]): Promise<Try['list']> {
  try {
    const { records, readLag } = await maker.client.listOrders();
    if (readLag !== 0) return 'behind';
    const listed = new Set(records.map(({ orderHash }) => orderHash));
    return orders.every(({ orderHash }) => listed.has(orderHash)) ? 'all there' : 'missing';
  } catch (error) {
    if (error instanceof MakerbookError) return 'unanswered';
    throw error;
  }
}

/** What was answered with 200 is listed, at once and in the end; of every other request all orders are listed, or none; and each ends ACTIVE. */
async function expectNothingLost(maker: TestMaker, tries: readonly Try[]): Promise<void> {
  expect(tries.map(({ list }) => list)).not.toContain('missing');
  await eventually(
    async () => {
      const { records } = await maker.client.listOrders();
      const listed = new Set(records.map(({ orderHash }) => orderHash));
      const lost = tries.filter(
        ({ orders, outcome }) => outcome === 'stored' && !orders.every(({ orderHash }) => listed.has(orderHash)),
      );
      const halves = tries.filter(
        ({ orders }) => new Set(orders.map(({ orderHash }) => listed.has(orderHash))).size !== 1,
      );
      const idle = records.filter(({ status }) => status !== 'ACTIVE').length;
      return { lost: lost.length, halves: halves.length, idle };
    },
    { lost: 0, halves: 0, idle: 0 },
  );
}

test('nothing of the stack can be reached but by the loopback address that it listens on', async () => {
  const { addresses } = stack;
  const parts = [
    addresses.kafkaBrokers,
    addresses.databaseUrl,
    addresses.redisUrl,
    addresses.rpcUrl,
    addresses.baseUrl,
  ];
  const ports = [
    ...parts.map((address) => Number(/:(\d+)(\/[^/]*)?$/.exec(address)?.[1])),
    ...stack.processes().flatMap(({ port, opsPort }) => [port, opsPort].filter((each) => each !== undefined)),
  ];
  expect(ports.length).toBeGreaterThanOrEqual(13);
  for (const port of ports) {
    expect([port, await answerAt('127.0.0.1', port)]).toEqual([port, 'connected']);
    // Another address of the same machine: on Linux all of 127.0.0.0/8 is its loopback.
    if (process.platform === 'linux') expect([port, await answerAt('127.0.0.2', port)]).toEqual([port, 'ECONNREFUSED']);
  }
});

function answerAt(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once('connect', () => resolve('connected'));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.once('connect', () => socket.destroy());
  });
}

const cancel = (maker: TestMaker, { orderHash, order }: SignedOrder) =>
  maker.client.cancelOrders([{ orderHash, salt: order.salt }]);

/** By DELETE, whose salt is optional. */
function cancelWithoutSalt({ wallet }: TestMaker, { orderHash, order }: SignedOrder): Promise<Response> {
  const { sign } = requestMaker(stack.addresses);
  const { method, target } = cancelling([[orderHash, sign.signCancellation(wallet, orderHash, order.salt)]]);
  return fetch(stack.addresses.baseUrl + target, { method });
}

/** Stops all processes of Postgres, so that no statement is answered and no connection is refused. @returns ends it */
async function freezePostgres(): Promise<() => void> {
  const pid = stack.processes().find(({ name }) => name === 'Postgres')?.pid ?? 0;
  await stack.freeze('Postgres');
  const children = childrenOf(pid);
  for (const child of children) process.kill(child, 'SIGSTOP');
  return () => {
    for (const child of children) process.kill(child, 'SIGCONT');
    stack.signal('SIGCONT', 'Postgres');
  };
}

describe('while a part is away', () => {
  test('Kafka: POST answers 503 in time and stores no half; then all goes on by itself', async () => {
    const maker = await funded();
    const tries = await whilePosting(maker, async (until) => {
      await until('stored');
      await stack.freeze('Kafka');
      await until('unavailable');
      stack.signal('SIGCONT', 'Kafka');
      await until('stored');
      stack.signal('SIGKILL', 'Kafka');
      await until('stored');
    });
    expect(new Set(tries.map(({ outcome }) => outcome))).toEqual(new Set(['stored', 'unavailable']));
    expect(Math.max(...tries.map(({ tookMs }) => tookMs))).toBeLessThan(answerMsMax);
    await expectNothingLost(maker, tries);

    const unsure = tries.filter(({ outcome }) => outcome !== 'stored');
    for (const { orders } of unsure) {
      const again = () =>
        maker.client.placeOrders(orders).then(
          () => 'stored',
          ({ code }: MakerbookError) => code,
        );
      // Unavailable until the first try has certainly ended.
      await eventually(async () => ['stored', 'duplicate'].includes(await again()), true);
    }
    await expectNothingLost(
      maker,
      tries.map((one) => ({ ...one, outcome: 'stored' })),
    );
  }, 600_000);

  test('Postgres hangs: POST is 503, a cancellation is answered with its salt and 503 without, GET goes on', async () => {
    const maker = await funded();
    const [first, second] = (await maker.place({}, {})) as [SignedOrder, SignedOrder];
    await maker.lists([first, second], ['ACTIVE', 'ACTIVE']);
    const thaw = await freezePostgres();
    try {
      await expect(maker.place({})).rejects.toMatchObject({ code: 'unavailable', status: 503, retryable: true });
      expect((await cancelWithoutSalt(maker, first)).status).toBe(503);
      expect(await cancel(maker, first)).toEqual([{ orderHash: first.orderHash, status: 'CANCELLED' }]);
      const { records, readLag } = await maker.client.listOrders();
      expect([records.length, readLag]).toEqual([2, 'unknown']);
    } finally {
      thaw();
    }
    await maker.lists([first, second], ['gone', 'ACTIVE']);
    await eventually(async () => (await maker.place({})).length, 1);
    await expect(maker.client.placeOrders([first])).rejects.toMatchObject({ code: 'duplicate' });
  }, 600_000);

  test('Postgres dies again and again: what was answered is kept, also cancellations, and all goes on by itself', async () => {
    const maker = await funded();
    const before = (await maker.place({}, {}, {})) as [SignedOrder, SignedOrder, SignedOrder];
    await maker.lists(before, ['ACTIVE', 'ACTIVE', 'ACTIVE']);
    const cancelled = before.slice(1);
    const tries = await whilePosting(maker, async (until) => {
      for (const order of cancelled) {
        await until('stored');
        stack.signal('SIGKILL', 'Postgres');
        expect(await cancel(maker, order)).toEqual([{ orderHash: order.orderHash, status: 'CANCELLED' }]);
        for (let reads = 0; reads < 5; reads += 1) expect((await maker.client.listOrders()).records).not.toEqual([]);
        await until('unavailable');
        await stack.ready();
      }
      await until('stored');
    });
    expect(new Set(tries.map(({ outcome }) => outcome))).toEqual(new Set(['stored', 'unavailable']));
    await maker.lists(before, ['ACTIVE', 'gone', 'gone']);
    await expectNothingLost(maker, tries);
    for (const order of before) {
      await expect(maker.client.placeOrders([order])).rejects.toMatchObject({ code: 'duplicate' });
    }
  }, 600_000);
});
