import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createClient, type OrderEvent, type SignedOrder } from '@makerbook/client';
import { eventTopics } from '@makerbook/contracts-evm';
import { info, paths } from '@makerbook/contracts-http';
import { openStore } from '@makerbook/ingress';
import { Wallet } from 'ethers';
import { testExamples } from '../examples/test-examples.js';
import { runOperator } from '../kit/admit-maker.js';
import { eventually } from '../kit/eventually.js';
import { followOrders } from '../kit/follow-orders.js';
import { isDevelopmentChain } from '../kit/give-coins.js';
import { canOpenBrowser } from '../kit/open-browser.js';
import { openMakers, type TestMaker } from '../kit/open-maker.js';
import { checkOrders, type ExpectedStep, type OrderChecks } from './check-orders.js';
import { isOwnStack, openWhole, type WholeStack } from './open-whole.js';
import { programs, readDocumentPage } from './read-documents.js';
import { testAcks } from './test-acks.js';
import { testDoctor } from './test-doctor.js';
import { testFills } from './test-fills.js';
import { testMoments } from './test-moments.js';
import { testPages } from './test-pages.js';
import { testQuotes } from './test-quotes.js';
import { testReads } from './test-reads.js';
import { testReplacements } from './test-replacements.js';
import { testRestores } from './test-restores.js';
import { testTraces } from './test-traces.js';
import { testWallets } from './test-wallets.js';

const [noAllowance, noBalance] = ['INACTIVE INSUFFICIENT_ALLOWANCE', 'INACTIVE INSUFFICIENT_BALANCE'] as const;
const found = (status: string): ExpectedStep => [status, 'OBSERVED', 'ORDER'];
/** More makers than tests. */
const MAKERS = 26;
let whole: WholeStack | undefined;
let stack: WholeStack['stack'];
let chain: WholeStack['chain'];
let feed: WholeStack['feed'];
let postgres: WholeStack['postgres'];
let check: OrderChecks;
/** Makers that no test has used yet. */
let fresh: TestMaker[];

beforeAll(async () => {
  whole = await openWhole();
  ({ stack, chain, feed, postgres } = whole);
  check = checkOrders(feed, postgres);
  fresh = await openMakers(stack, chain, MAKERS);
});
afterAll(() => whole?.stop());

const ofWhole = () => whole as WholeStack;
const describeOwn = isOwnStack ? describe : describe.skip;
/** These tests freeze the chain, move its clock, or need its accounts with coins. */
const describeOwnChain = isOwnStack && isDevelopmentChain ? describe : describe.skip;
const testOwnChain = isDevelopmentChain ? test : test.skip;

// These run one after another on one stack. After them the clock of the chain is ahead, and rows are lost.
describeOwnChain('examples', () => testExamples(ofWhole));
describeOwn('the doctor', () => testDoctor(ofWhole));
describeOwn('routers that acknowledge', () => testAcks(ofWhole));
describeOwn('a moment', () => testMoments(ofWhole));
describeOwn('traces', () => testTraces(ofWhole));
describeOwn('quotes', () => testQuotes(ofWhole));
describeOwn('replacements', () => testReplacements(ofWhole));
describeOwn('fills', () => testFills(ofWhole));
describeOwn('reads', () => testReads(ofWhole));
describeOwn('contract wallets', () => testWallets(ofWhole));

function freshMaker(): TestMaker {
  const maker = fresh.pop();
  if (maker === undefined) throw new Error('more makers are needed');
  return maker;
}

/** Opens a maker with funds that the log's clock has passed, so that an order's first reading finds them. */
async function funded(amount = 1000n, allowance = amount): Promise<TestMaker> {
  const maker = freshMaker();
  await maker.mint(amount);
  await maker.approve(allowance);
  const block = await chain.provider.getBlockNumber();
  await eventually(async () => feed.block() >= block, true);
  return maker;
}

const operate = (...words: string[]) => runOperator(['makers', ...words], stack.operatorEnvironment);
/** The code of the refusal; `none` if the request is answered. */
const codeOf = (request: Promise<unknown>) =>
  request.then(
    () => 'none',
    ({ code }: { code: string }) => code,
  );

describe('an order, from POST to the router', () => {
  test('is VALIDATING at once, and then ACTIVE in the list, in Postgres and in the router’s feed', async () => {
    const maker = await funded();
    const orders = [await maker.sign(), await maker.sign({ amount: 7n })];
    const records = await maker.client.placeOrders(orders);
    expect(records.map(({ status, orderHash }) => [status, orderHash])).toEqual(
      orders.map(({ orderHash }) => ['VALIDATING', orderHash]),
    );
    expect((await maker.client.listOrders()).records.map(({ orderHash }) => orderHash)).toEqual(
      orders.map(({ orderHash }) => orderHash),
    );
    await check.both(maker, orders, ['ACTIVE', 'ACTIVE']);
    for (const order of orders) await check.story(order, found('ACTIVE'));
    const orderHashes = orders.map(({ orderHash }) => orderHash);
    const { rows } = await openStore(postgres).findHashes(orderHashes);
    expect(rows.map(({ open }) => open?.maker)).toEqual(orders.map(({ order }) => order.maker));
  });

  test('without funds is INACTIVE, and follows each change of its maker’s balance and allowance', async () => {
    const maker = freshMaker();
    // The funds cover either of the first two, but never both, and not the third.
    const orders = (await maker.place({}, {}, { amount: 101n })) as [SignedOrder, SignedOrder, SignedOrder];
    const [first, second, third] = orders;
    await check.both(maker, orders, [noAllowance, noAllowance, noAllowance]);
    const approval = await maker.approve(100n);
    await check.both(maker, orders, [noBalance, noBalance, noAllowance]);
    const minting = await maker.mint(100n);
    await check.both(maker, orders, ['ACTIVE', 'ACTIVE', noAllowance]);
    const spending = await maker.spend(1n);
    await check.both(maker, orders, [noBalance, noBalance, noAllowance]);
    const refill = await maker.mint(1n);
    await check.both(maker, orders, ['ACTIVE', 'ACTIVE', noAllowance]);
    const lowering = await maker.approve(99n);
    await check.both(maker, orders, [noAllowance, noAllowance, noAllowance]);
    const raising = await maker.approve(101n);
    await check.both(maker, orders, ['ACTIVE', 'ACTIVE', noBalance]);
    const lastSpending = await maker.spend(1n);
    // Orders that cannot be filled can still be cancelled.
    await check.both(maker, orders, [noBalance, noBalance, noBalance]);
    await maker.client.cancelOrders([{ orderHash: first.orderHash, salt: first.order.salt }]);
    const cancel = await maker.cancelOnChain(second);
    const cancelled = ['gone CANCELLED', 'gone CANCELLED_ONCHAIN'];
    await check.both(maker, orders, ['gone', 'gone', noBalance], [...cancelled, noBalance]);
    const all = await maker.cancelAllOnChain();
    await check.both(maker, orders, ['gone', 'gone', 'gone'], [...cancelled, 'gone NONCE_CHANGED']);
    await check.remembered(orders, ['CANCELLED', 'CANCELLED_ONCHAIN', 'NONCE_CHANGED']);
    const inCommon: ExpectedStep[] = [
      found(noAllowance),
      [noBalance, 'ALLOWANCE_CHANGED 100', approval],
      ['ACTIVE', 'BALANCE_CHANGED 100', minting],
      [noBalance, 'BALANCE_CHANGED 99', spending],
      ['ACTIVE', 'BALANCE_CHANGED 100', refill],
      [noAllowance, 'ALLOWANCE_CHANGED 99', lowering],
      ['ACTIVE', 'ALLOWANCE_CHANGED 101', raising],
      [noBalance, 'BALANCE_CHANGED 99', lastSpending],
    ];
    await check.story(first, ...inCommon, ['gone CANCELLED', 'OrderCancelled', 'request']);
    await check.story(second, ...inCommon, ['gone CANCELLED_ONCHAIN', 'MakerObserved', cancel]);
    const ofThird: ExpectedStep[] = [found(noAllowance), [noBalance, 'ALLOWANCE_CHANGED 101', raising]];
    // Without the second order no other record has the newest balance.
    const retold: ExpectedStep = [noBalance, 'ALLOWANCE_CHANGED 101,BALANCE_CHANGED 99', cancel];
    await check.story(third, ...ofThird, retold, ['gone NONCE_CHANGED', 'MakerObserved', all]);
    const told = (steps: ExpectedStep[]) => [
      ['VALIDATING', 'request'] as const,
      ...steps.map(([status, , cause]) => [status, cause] as const),
    ];
    await check.told(maker, first, ...told(inCommon), ['CANCELLED', 'request']);
    await check.told(maker, second, ...told(inCommon), ['CANCELLED_ONCHAIN', cancel]);
    await check.told(maker, third, ...told(ofThird), ['NONCE_CHANGED', all]);
    expect(await codeOf(freshMaker().client.findOrder(first.orderHash))).toBe('not_found');
  });

  test('loses its allowance when another order of its maker is filled, even without an Approval event', async () => {
    const maker = await funded(1000n, 150n);
    const orders = await maker.place({}, {});
    const [first, second] = orders as [SignedOrder, SignedOrder];
    await check.both(maker, orders, ['ACTIVE', 'ACTIVE']);
    const filling = await maker.fill(first, 60n);
    // The first order has 40 left to fill, which the allowance of 90 covers.
    await check.both(maker, orders, ['ACTIVE', noAllowance]);
    const recordOf = ({ order, orderHash, signature }: SignedOrder) => {
      return { order, orderHash, signature, routableUntil: Number(order.expiresAt) - 60 };
    };
    expect((await maker.client.listOrders()).records).toEqual([
      { ...recordOf(first), status: 'ACTIVE', remainingMakingAmount: '0x28' },
      { ...recordOf(second), status: 'INACTIVE', reason: 'INSUFFICIENT_ALLOWANCE' },
    ]);
    expect(feed.entry(first.orderHash)).toMatchObject({ ...recordOf(first), remainingMakingAmount: '0x28' });
    const receipt = await chain.provider.getTransactionReceipt(filling);
    expect(receipt?.logs.map(({ topics }) => topics[0])).not.toContain(eventTopics.approval);
    expect(await maker.client.findOrder(first.orderHash)).toMatchObject({
      status: 'ACTIVE',
      filledMakingAmount: '0x3c',
    });
    const rest = await maker.fill(first, 40n);
    await check.both(maker, orders, ['gone', noAllowance], ['gone FILLED', noAllowance]);
    await check.remembered(orders, ['FILLED', 'open']);
    expect(await maker.client.findOrder(first.orderHash)).toMatchObject({
      status: 'FILLED',
      filledMakingAmount: '0x64',
      remainingMakingAmount: '0x0',
    });
    const approval = await maker.approve(100n);
    await check.both(maker, [second], ['ACTIVE']);
    await check.story(first, found('ACTIVE'), ['ACTIVE', 'FILLED 60', filling], ['gone FILLED', 'MakerObserved', rest]);
    await check.story(
      second,
      found('ACTIVE'),
      [noAllowance, 'ALLOWANCE_CHANGED 90', filling],
      // After the last fill only this order is left to tell the funds.
      [noAllowance, 'ALLOWANCE_CHANGED 50,BALANCE_CHANGED 900', rest],
      ['ACTIVE', 'ALLOWANCE_CHANGED 100', approval],
    );
  });

  test('is streamed: first the list, then each change, even those while nobody listened', async () => {
    const maker = await funded();
    const [first] = (await maker.place({})) as [SignedOrder];
    const leaving = new AbortController();
    const seen: string[] = [];
    let lastEventId: string | undefined;
    const listen = async (until: (event: OrderEvent) => boolean) => {
      for await (const event of maker.client.streamOrders({
        ...(lastEventId && { lastEventId }),
        signal: leaving.signal,
      })) {
        lastEventId = event.id ?? lastEventId;
        if (event.event === 'snapshot') seen.push(`snapshot ${event.orders.length}`);
        if (event.event === 'change') {
          seen.push(`${event.happened} ${event.orderHash === first.orderHash ? 'first' : 'second'}`);
        }
        if (until(event)) return;
      }
    };
    await check.both(maker, [first], ['ACTIVE']);
    await listen(({ event }) => event === 'clock');
    const [second] = (await maker.place({})) as [SignedOrder];
    await check.both(maker, [second], ['ACTIVE']);
    await listen((event) => event.event === 'change' && event.happened === 'CHANGED');
    const filling = maker.fill(first, 60n);
    await listen((event) => event.event === 'change' && event.happened === 'CHANGED');
    await filling;
    await maker.client.cancelAll();
    expect(await maker.statuses(first, second)).toEqual(['gone', 'gone']);
    await listen(() => seen.filter((line) => line.startsWith('REMOVED')).length === 2);
    leaving.abort();
    expect(seen.slice(0, 5)).toEqual([
      'snapshot 1',
      'OPENED second',
      'CHANGED second',
      'FILLED first',
      'CHANGED first',
    ]);
    expect(seen.slice(5).sort()).toEqual(['REMOVED first', 'REMOVED second']);
    const history = await maker.client.readHistory({ cursor: lastEventId });
    expect(history.entries).toEqual([]);
  });

  test('is cancelled by the clock when heartbeats stop, even those of a key that may only cancel', async () => {
    const maker = await funded();
    const watchdog = Wallet.createRandom();
    await maker.client.nameCancelKeys([watchdog.address], { listKeys: [watchdog.address] });
    const { baseUrl, serviceName, chainId, limitOrderProtocol } = stack.addresses;
    const client = createClient({
      signer: watchdog.privateKey as `0x${string}`,
      maker: await maker.client.maker(),
      ...{ baseUrl, serviceName, chainId, limitOrderProtocol: limitOrderProtocol as `0x${string}` },
    });
    const orders = (await maker.place({}, {})) as [SignedOrder, SignedOrder];
    await check.both(maker, orders, ['ACTIVE', 'ACTIVE']);
    expect((await client.listOrders()).records).toHaveLength(2);
    expect(await client.readAccount()).toMatchObject({ openOrders: { count: 2 }, switch: { cancelAt: 0 } });
    expect(await codeOf(client.readHistory())).toBe('invalid_signature');
    const nowSeconds = async () => (await chain.provider.getBlock('latest'))?.timestamp ?? 0;
    await eventually(() => codeOf(client.sendHeartbeat(Math.floor(Date.now() / 1000) + 600)), 'none');
    const cancelAt = Math.max(await nowSeconds(), Math.floor(Date.now() / 1000)) + 3;
    await client.sendHeartbeat(cancelAt);
    await check.both(maker, orders, ['gone', 'gone'], ['gone CANCELLED', 'gone CANCELLED']);
    expect(await nowSeconds()).toBeGreaterThanOrEqual(cancelAt);
    await check.told(maker, orders[0], ['VALIDATING', 'request'], ['ACTIVE', 'ORDER'], ['CANCELLED', 'block']);
    await maker.client.nameCancelKeys([]);
    await eventually(() => codeOf(client.sendHeartbeat(0)), 'invalid_signature');
  });

  test('cancelled by a DELETE that waits for the feed is in no book that is read afterwards', async () => {
    const maker = await funded();
    const orders = await maker.place({}, {});
    await check.both(maker, orders, ['ACTIVE', 'ACTIVE']);
    const asks = orders.map(({ orderHash, order }) => ({ orderHash, salt: order.salt }));
    const answer = await maker.client.cancelOrdersAndWait(asks, 20);
    expect(answer.cancellations.map(({ status }) => status)).toEqual(['CANCELLED', 'CANCELLED']);
    expect(await maker.statuses(...orders)).toEqual(['gone', 'gone']);
    expect(answer.isOutOfFeed).toBe(true);
    const late = followOrders(stack);
    try {
      await late.book().caughtUp;
      for (const { orderHash } of orders) expect(late.book().entries.get(orderHash)).toBeUndefined();
      const [partition, offset] = (answer.position ?? '').split(':').map(Number);
      await eventually(async () => {
        const fact = late.factAt(partition ?? -1, BigInt(offset ?? -1));
        return fact?.type === 'OrderCancelled' ? fact.orderHash : fact?.type;
      }, orders[1]?.orderHash);
    } finally {
      await late.close();
    }
    // The answer is CANCELLED again until the cancellations are folded.
    const unknown = asks.map(({ orderHash }) => ({ orderHash, status: 'NOT_FOUND' }));
    await eventually<unknown>(() => maker.client.cancelOrders(asks), unknown);
  });

  test('posted with less than 60 s to live is listed with its routing deadline, but is never in the feed', async () => {
    const maker = await funded();
    const expiresAt = (await chain.nowSeconds()) + 50;
    const orders = await maker.place({ expiresAt }, { expiresAt: expiresAt + 3600 });
    await check.both(maker, orders, ['ACTIVE', 'ACTIVE'], ['nothing', 'ACTIVE']);
    const { records } = await maker.client.listOrders();
    expect(records.map(({ routableUntil }) => routableUntil)).toEqual([expiresAt - 60, expiresAt + 3540]);
    const { routableUntil, timeline } = await maker.client.findOrder(orders[0]?.orderHash ?? '0x');
    expect(routableUntil).toBe(expiresAt - 60);
    expect(timeline.map(({ happened }) => happened).slice(0, 2)).toEqual(['OPENED', 'WITHHELD']);
  });

  testOwnChain(
    'leaves the feed 60 s before it expires while the maker still lists it, and is gone at its expiry',
    async () => {
      const maker = await funded();
      const orders = await maker.place({ expiresIn: 600 }, { expiresIn: 600, amount: 2000n });
      const inGrace = ['gone GRACE_PERIOD', 'gone GRACE_PERIOD'];
      await check.both(maker, orders, ['ACTIVE', noAllowance]);
      await chain.warp(550);
      await check.both(maker, orders, ['ACTIVE', noAllowance], inGrace);
      // The list follows the funds until the end, but the router no longer hears of the order.
      await maker.approve(2000n);
      await check.both(maker, orders, ['ACTIVE', noBalance], inGrace);
      await check.remembered(orders, ['open', 'open']);
      // The router still has these when a block jumps over their whole last minute.
      orders.push(...(await maker.place({ expiresIn: 300 }, { expiresIn: 300, amount: 2000n })));
      await check.both(maker, orders, ['ACTIVE', noBalance, 'ACTIVE', noBalance], [...inGrace, 'ACTIVE', noBalance]);
      await chain.warp(400);
      await check.both(maker, orders, Array(4).fill('gone'), [...inGrace, 'gone EXPIRED', 'gone EXPIRED']);
      await check.remembered(orders, Array(4).fill('EXPIRED'));
      const [good, poor, late, latePoor] = orders;
      await check.story(good, found('ACTIVE'), ['gone GRACE_PERIOD', 'BlockProcessed', 'last minute']);
      await check.story(poor, found(noAllowance), ['gone GRACE_PERIOD', 'BlockProcessed', 'last minute']);
      await check.story(late, found('ACTIVE'), ['gone EXPIRED', 'BlockProcessed', 'expired']);
      await check.story(latePoor, found(noBalance), ['gone EXPIRED', 'BlockProcessed', 'expired']);
    },
  );

  testOwnChain('leaves the feed when fills exceed a cap, and comes back with time or a new cap', async () => {
    const maker = await funded();
    const cap = { token: stack.addresses.tokens[0]?.address ?? '', amount: 50n, windowSeconds: 600 };
    const orders = await maker.place({}, {});
    await check.both(maker, orders, ['ACTIVE', 'ACTIVE']);
    await maker.client.setFillCap(cap);
    const [filled, other] = orders as [SignedOrder, SignedOrder];
    const filling = await maker.fill(filled, 51n);
    await check.both(maker, orders, ['ACTIVE', 'ACTIVE'], ['gone CAPPED', 'gone CAPPED']);
    orders.push(...(await maker.place({})));
    await check.both(maker, orders, Array(3).fill('ACTIVE'), ['gone CAPPED', 'gone CAPPED', 'nothing']);
    const block = (await chain.provider.getTransactionReceipt(filling))?.blockNumber ?? 0;
    const cappedUntil = ((await chain.provider.getBlock(block))?.timestamp ?? 0) + cap.windowSeconds;
    const ofList = async () => (await maker.client.listOrders()).records.map((record) => record.cappedUntil);
    await eventually(ofList, [cappedUntil, cappedUntil, cappedUntil]);
    expect(await maker.client.findOrder(other.orderHash)).toMatchObject({ status: 'ACTIVE', cappedUntil });
    const { entries } = await maker.client.readHistory({ happened: ['WITHHELD'] });
    const byFill = { cappedUntil, cause: { kind: 'log', transactionHash: filling } };
    expect(entries).toMatchObject([byFill, byFill, { cappedUntil, cause: { kind: 'request' } }]);
    await chain.warp(cap.windowSeconds);
    await check.both(maker, orders, Array(3).fill('ACTIVE'));
    await eventually(ofList, [undefined, undefined, undefined]);
    const again = await maker.fill(other, 51n);
    await check.both(maker, orders, Array(3).fill('ACTIVE'), Array(3).fill('gone CAPPED'));
    await maker.client.setFillCap(cap);
    await check.both(maker, orders, Array(3).fill('ACTIVE'));
    const told = async () => (await maker.client.findOrder(filled.orderHash)).timeline.map(({ happened }) => happened);
    // The rows are behind the feed.
    await eventually(told, ['OPENED', 'CHANGED', 'FILLED', 'WITHHELD', 'CHANGED', 'WITHHELD', 'CHANGED']);
    const back = ['ACTIVE', 'CAP_CHANGED'] as const;
    const withheld = ['gone CAPPED', 'MakerObserved'] as const;
    const steps: ExpectedStep[] = [found('ACTIVE'), [...withheld, filling], [...back, 'not older']];
    await check.story(filled, ...steps, [...withheld, again], [...back, 'request']);
  });

  test('of a suspended maker leaves the feed, can still be cancelled, and comes back as the chain says', async () => {
    const maker = await funded();
    const orders = (await maker.place({}, {}, { amount: 2000n })) as [SignedOrder, SignedOrder, SignedOrder];
    const [first, second] = orders;
    await check.both(maker, orders, ['ACTIVE', 'ACTIVE', noAllowance]);
    await operate('suspend', maker.wallet.address, '--reason', 'its key is out');
    const away = Array(3).fill('gone SUSPENDED');
    await check.both(maker, orders, ['ACTIVE', 'ACTIVE', noAllowance], away);
    await eventually(async () => codeOf(maker.client.placeOrders([await maker.sign()])), 'maker_not_whitelisted');
    await maker.client.cancelOrders([{ orderHash: first.orderHash, salt: first.order.salt }]);
    await maker.spend(950n);
    await check.both(maker, orders, ['gone', noBalance, noAllowance], away);
    await operate('add', maker.wallet.address);
    await check.both(maker, orders, ['gone', noBalance, noAllowance], ['gone SUSPENDED', noBalance, noAllowance]);
    expect(feed.entry(second.orderHash)).toMatchObject({ funding: { balance: '0x32' } });
    const minting = await maker.mint(50n);
    await check.both(maker, [second], ['ACTIVE']);
    await check.story(
      second,
      found('ACTIVE'),
      ['gone SUSPENDED', 'MakerSuspended', 'operator'],
      [noBalance, 'ADMITTED', 'operator'],
      ['ACTIVE', 'BALANCE_CHANGED 100', minting],
    );
    const next = await maker.place({});
    await check.both(maker, next, ['ACTIVE']);
    await operate('set', maker.wallet.address, '--open-orders', '4');
    await maker.place({});
    await eventually(async () => codeOf(maker.client.placeOrders([await maker.sign()])), 'too_many_orders');
  });

  test('is refused while an operator has turned orders off, but cancelling, listing and patching go on', async () => {
    const maker = await funded();
    const [order] = (await maker.place({})) as [SignedOrder];
    await operate('cancel-only', 'on', '--reason', 'a test');
    try {
      await eventually(async () => codeOf(maker.client.placeOrders([await maker.sign()])), 'unavailable');
      const scrape = async () => (await fetch(`${stack.opsUrl('ingress')}/metrics`)).text();
      const measured = /^http_server_request_duration_seconds_count\{.*makerbook_error_code="cancel_only".*\} [1-9]/m;
      await eventually(async () => measured.test(await scrape()), true);
      await check.both(maker, [order], ['ACTIVE']);
      await maker.client.cancelOrders([{ orderHash: order.orderHash, salt: order.order.salt }]);
      await check.both(maker, [order], ['gone'], ['gone CANCELLED']);
      const patch = { method: 'PATCH', headers: { 'content-type': 'application/json' }, body: '{"data":"0x00"}' };
      const response = await fetch(`${stack.addresses.baseUrl}/v0/quote/data`, patch);
      expect(await response.json()).toMatchObject({ code: 'no_changes' });
    } finally {
      await operate('cancel-only', 'off');
    }
    const orders: SignedOrder[] = [];
    await eventually(async () => codeOf(maker.place({}).then((placed) => orders.push(...placed))), 'none');
    await check.both(maker, orders, ['ACTIVE']);
  });
});

(isOwnStack ? test : test.skip)(
  'the stack can be reached only by the loopback address that it listens on',
  async () => {
    const { kafkaBrokers, databaseUrl, redisUrl, rpcUrl, baseUrl } = stack.addresses;
    const ports = [
      ...[kafkaBrokers, databaseUrl, redisUrl, rpcUrl, baseUrl].map((address) =>
        Number(/:(\d+)(\/[^/]*)?$/.exec(address)?.[1]),
      ),
      ...stack.processes().flatMap(({ port, opsPort }) => [port, opsPort].filter((each) => each !== undefined)),
    ];
    expect(ports.length).toBeGreaterThanOrEqual(13);
    for (const port of ports) {
      expect([port, await answerAt('127.0.0.1', port)]).toEqual([port, 'connected']);
      // Another address of the same machine: on Linux all of 127.0.0.0/8 is its loopback.
      if (process.platform === 'linux')
        expect([port, await answerAt('127.0.0.2', port)]).toEqual([port, 'ECONNREFUSED']);
    }
  },
);

function answerAt(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once('connect', () => resolve('connected'));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.once('connect', () => socket.destroy());
  });
}

describe('the documents at the base URL', () => {
  test('exist, and describe this stack', async () => {
    const { baseUrl, chainId, limitOrderProtocol, navigator } = stack.addresses;
    const typeOf = async (path: string) => (await fetch(`${baseUrl}${path}`)).headers.get('content-type');
    expect(await typeOf('/openapi.json')).toMatch(/^application\/json/);
    expect(await typeOf('/asyncapi.json')).toMatch(/^application\/json/);
    expect(await typeOf('/docs/lib/ethers/ethers.min.js')).toMatch(/^text\/javascript/);
    expect((await fetch(`${baseUrl}/`)).url).toBe(`${baseUrl}/docs`);
    expect((await readDocumentPage(baseUrl)).html).toContain(limitOrderProtocol.toLowerCase());
    const described = info.parse(await (await fetch(`${baseUrl}${paths.info}`)).json());
    const contracts = { limitOrderProtocol: limitOrderProtocol.toLowerCase(), navigator: navigator.toLowerCase() };
    expect(described).toMatchObject({ chainId, contracts });
    const { number: block } = described.block ?? { number: 0 };
    expect(Math.abs((await chain.provider.getBlockNumber()) - block)).toBeLessThan(100);
  });

  test.each(programs)('show a program for %s %s that places an order', async (command, file) => {
    const maker = await funded();
    const [making, taking] = stack.addresses.tokens;
    const { runProgram } = await readDocumentPage(stack.addresses.baseUrl);
    const lines = await runProgram(command, file, {
      MAKER_KEY: maker.wallet.privateKey,
      SELL_TOKEN: making?.address ?? '',
      BUY_TOKEN: taking?.address ?? '',
    });
    expect(lines).toMatch(/200[\s\S]*VALIDATING/);
    await eventually(async () => (await maker.client.listOrders()).records.map(({ status }) => status), ['ACTIVE']);
  });
});

(canOpenBrowser ? describeOwnChain : describe.skip)('the pages', () => testPages(ofWhole));
describeOwnChain('restored rows', () => testRestores(ofWhole));
