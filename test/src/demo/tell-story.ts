import type { SignedOrder } from '@makerbook/client';
import { topicNames } from '@makerbook/contracts-events';
import { connectLog } from '@makerbook/kafka';
import { silentLogger } from '@makerbook/telemetry';
import { formatUnits, parseUnits } from 'ethers';
import { eventually } from '../kit/eventually.js';
import { type FollowedOrders, followOrders } from '../kit/follow-orders.js';
import { openChain, openMakers, type TestMaker } from '../kit/open-maker.js';
import type { FoundStack } from './find-stack.js';
import { patchQuote, type Telling } from './patch-quote.js';

const UNITS = ['10', '20', '30'];
const DOLLARS_PER_ETHER = 3_000n;
const LACKS_BALANCE = 'INACTIVE INSUFFICIENT_BALANCE';

/**
 * Plays a maker's day on a running stack: it is admitted and funded, places three orders, lacks tokens for a while, and
 * cancels in each way. Then a trader's quote is patched and swapped.
 * @throws Error that says what did not become true in time
 */
export async function tellStory({ stack, topicPrefix }: FoundStack): Promise<void> {
  const startedAtMs = performance.now();
  const say = (who: string, line: string) => console.log(`      ${who.padEnd(8)}│ ${line}`);
  const step = (title: string) =>
    console.log(`\n${((performance.now() - startedAtMs) / 1000).toFixed(1).padStart(5)} s  ${title}`);
  const operatorEnvironment = await readEnvironment(stack.kafkaBrokers, topicPrefix);
  const open = { addresses: stack, topicPrefix, operatorEnvironment };
  console.log(`Watch it at ${stack.consoleUrl}`);
  const chain = openChain(open, false);
  const feed = followOrders(open);
  try {
    const [maker] = (await openMakers(open, chain, 1)) as [TestMaker];
    step(`A maker has a fresh key, ${maker.wallet.address}, and the operator puts it on the whitelist`);
    await tellOrders({ stack, maker, feed, step, say });
    await patchQuote({ stack, client: maker.client, step, say });
    step('The end: what the maker saw, the router saw too.');
  } finally {
    chain.stop();
    await feed.close();
  }
}

async function tellOrders({
  stack,
  maker,
  feed,
  step,
  say,
}: Telling & { readonly maker: TestMaker; readonly feed: FollowedOrders }): Promise<void> {
  const [{ symbol, decimals } = { symbol: '', decimals: 0 }, wanted] = stack.tokens;
  const funds = parseUnits('60', decimals);
  const termsOf = (units: string) => ({
    amount: parseUnits(units, decimals),
    wanted: parseUnits(units, wanted?.decimals) / DOLLARS_PER_ETHER,
  });
  /** Waits until the list and the router's feed show this. */
  const both = async (orders: readonly SignedOrder[], listed: readonly string[], inFeed = listed) => {
    await maker.lists(orders, listed);
    say('list', listed.join(', '));
    await eventually(async () => orders.map(({ orderHash }) => feed.last(orderHash)), inFeed);
    say('router', inFeed.join(', '));
  };

  step(`It mints ${formatUnits(funds, decimals)} ${symbol} and approves the LimitOrderProtocol for it`);
  await maker.mint(funds);
  await maker.approve(funds);

  step(`It signs three orders, over ${UNITS.join(', ')} ${symbol}, which costs no gas, and posts them`);
  const orders = await Promise.all(UNITS.map((units) => maker.sign(termsOf(units))));
  const [first, second] = orders as [SignedOrder, SignedOrder];
  // The whitelist reaches the services a moment after the operator has written it.
  await eventually(
    async () => (await maker.client.placeOrders(orders, { duplicateCountsAsStored: true })).length,
    orders.length,
  );
  await both(orders, ['ACTIVE', 'ACTIVE', 'ACTIVE']);

  step('It sends all its tokens away: each order is judged alone, and none is covered now');
  await maker.spend(funds);
  await both(orders, [LACKS_BALANCE, LACKS_BALANCE, LACKS_BALANCE]);
  step('It has tokens again');
  await maker.mint(funds);
  await both(orders, ['ACTIVE', 'ACTIVE', 'ACTIVE']);

  step('It cancels the first with a signature (DELETE): no gas, and gone from the list at once');
  const [outcome] = await maker.client.cancelOrders([{ orderHash: first.orderHash, salt: first.order.salt }]);
  if (outcome?.status !== 'CANCELLED') throw new Error(`DELETE answered ${outcome?.status} for an open order`);
  const [listed] = await maker.statuses(first);
  if (listed !== 'gone') throw new Error(`a cancelled order is listed as ${listed}`);
  await both(orders, ['gone', 'ACTIVE', 'ACTIVE'], ['gone CANCELLED', 'ACTIVE', 'ACTIVE']);

  step('It cancels the second on the chain (cancelOrder): nobody can ever fill it');
  await maker.cancelOnChain(second);
  await both(orders, ['gone', 'gone', 'ACTIVE'], ['gone CANCELLED', 'gone CANCELLED_ONCHAIN', 'ACTIVE']);

  step('It cancels everything on the chain (cancelAllOrders): its nonce is higher now');
  await maker.cancelAllOnChain();
  await both(orders, ['gone', 'gone', 'gone'], ['gone CANCELLED', 'gone CANCELLED_ONCHAIN', 'gone NONCE_CHANGED']);
}

/** The environment that the operator's commands need if no file of a local stack gives it. */
async function readEnvironment(kafkaBrokers: string, topicPrefix: string): Promise<Record<string, string>> {
  const log = connectLog({ brokers: kafkaBrokers.split(','), clientId: 'makerbook-demo', logger: silentLogger });
  try {
    const partitions = await log.partitionsOf(topicNames(topicPrefix).makerEvents);
    return {
      KAFKA_BROKERS: kafkaBrokers,
      PARTITIONS: String(partitions),
      TOPIC_PREFIX: topicPrefix,
      LOG_LEVEL: 'error',
    };
  } finally {
    await log.close();
  }
}
