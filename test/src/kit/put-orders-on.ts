import { eventually } from './eventually.js';
import { followOrders } from './follow-orders.js';
import { openChain, openMakers, type TestChain, type TestMaker } from './open-maker.js';
import type { OpenStack } from './open-stack.js';
import { placeAndCancel } from './place-and-cancel.js';
import { verifyRows } from './verify-rows.js';

const MAKERS = 8;
const OPEN_ORDERS = 20;
const LIFE_SECONDS = 7200;
const FUNDS = 1_000_000n;
const POLL_MS = 20;

export type PutOrders = Awaited<ReturnType<typeof putOrdersOn>>;

/**
 * Lets makers place, list and cancel on a stack without retries, and follows the router's feed, until `judge`.
 * @param roundsPerSecond how often a maker does all three
 */
export async function putOrdersOn(
  stack: Pick<OpenStack, 'addresses' | 'topicPrefix' | 'operatorEnvironment'>,
  roundsPerSecond: number,
) {
  const chain = openChain(stack, false);
  const feed = followOrders(stack);
  const close = async () => {
    chain.stop();
    await feed.close();
  };
  const makers = await openFundedMakers(stack, chain, MAKERS);
  const expiresAt = (await chain.nowSeconds()) + LIFE_SECONDS;
  const placing = makers.map(({ client, sign }) => ({ client, sign: () => sign({ expiresAt, amount: 1n }) }));
  const startMs = performance.now();
  const load = placeAndCancel(placing, { roundsPerSecond, openOrders: OPEN_ORDERS });
  const clock = watchClock(feed.bookBlock);
  // The feed never shows an order that is cancelled before it was read.
  const inFeed = (orderHash: string) => (feed.isObserved(orderHash) ? 'gone CANCELLED' : 'nothing');
  return {
    makers,
    /** Each request that was not answered with 200, or was answered wrongly. */
    failures: load.failures,
    /** The orders in the lists of all makers, oldest first. */
    readLists: () => readLists(makers),
    /** When a POST was last answered with 200. */
    placedAtMs: () => load.answeredAtMs.get('place') ?? startMs,
    /** The longest time, in ms, without an answer of 200 to each call, and without a new block in the whole feed. */
    silentMs: () => ({ ...load.silentMs, feed: clock.longestMs() }),
    /**
     * Ends the load, prints what was answered, and compares feed, lists and rows with it.
     * @param options.ofRows false if the stack's Postgres cannot be reached from here
     * @returns what is wrong, empty if no acknowledged order is lost or comes twice
     */
    async judge({ ofRows = true } = {}): Promise<string[]> {
      const acknowledged = await load.stop();
      clock.stop();
      const seconds = ((performance.now() - startMs) / 1000).toFixed(0);
      const answered = Object.values(load.tookMs).flat().length;
      console.log(`${answered} requests in ${seconds} s were answered with 200, ${load.failures.length} were not`);
      const cancelled = [...acknowledged.values()].filter((state) => state === 'cancelled').length;
      console.log(`${acknowledged.size} orders were acknowledged, ${cancelled} of them cancelled again`);
      const wrong = [
        ...(await compare('the feed', acknowledged, async () => feed.last, inFeed)),
        ...(await compare(
          'the list',
          acknowledged,
          async () => statusIn(await readLists(makers)),
          () => undefined,
        )),
        ...(ofRows ? await verifyRows(stack) : []),
      ];
      if (wrong.length === 0)
        console.log('feed, lists and rows are right about each: none is lost, and none comes twice');
      return wrong;
    },
    close,
  };
}

/** Opens makers with tokens and an allowance for as many orders as they like. */
export async function openFundedMakers(
  stack: Parameters<typeof openMakers>[0],
  chain: TestChain,
  count: number,
): Promise<TestMaker[]> {
  const makers = await openMakers(stack, chain, count);
  for (const maker of makers) {
    await maker.mint(FUNDS);
    await maker.approve(FUNDS);
  }
  return makers;
}

/** Measures the longest time for which the number stays the same. */
function watchClock(blockNumber: () => number) {
  let [block, sinceMs, longestMs] = [-1, performance.now(), 0];
  const look = () => {
    try {
      const next = blockNumber();
      longestMs = Math.max(longestMs, performance.now() - sinceMs);
      if (next > block) [block, sinceMs] = [next, performance.now()];
    } catch {
      // The feed is broken. Its next reader gets the error.
    }
  };
  const timer = setInterval(look, POLL_MS);
  return { longestMs: () => longestMs, stop: () => clearInterval(timer) };
}

type StatusOf = (orderHash: string) => string | undefined;

/** Waits until every acknowledged order is active, or is as a cancelled order must be. */
function compare(
  where: string,
  acknowledged: ReadonlyMap<string, 'placed' | 'cancelled'>,
  read: () => Promise<StatusOf>,
  ofCancelled: StatusOf,
): Promise<string[]> {
  const wrong = async () => {
    const statusOf = await read();
    return [...acknowledged].flatMap(([hash, state]) => {
      const status = statusOf(hash);
      const right = state === 'placed' ? 'ACTIVE' : ofCancelled(hash);
      return status === right ? [] : [`${hash}: ${state}, ${status} and not ${right}`];
    });
  };
  return eventually(wrong, []).then(
    () => [],
    (error: Error) => [`${where}: ${error.message}`],
  );
}

type Listed = readonly (readonly [orderHash: string, status: string])[];

async function readLists(makers: readonly TestMaker[]): Promise<Listed> {
  const lists = await Promise.all(makers.map(({ client }) => client.listOrders()));
  return lists.flatMap(({ records }) => records.map(({ orderHash, status }) => [orderHash, status] as const));
}

function statusIn(listed: Listed): StatusOf {
  const statuses = new Map(listed);
  return (hash) => statuses.get(hash);
}
