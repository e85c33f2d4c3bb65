import { setTimeout as pause } from 'node:timers/promises';
import { createClient, type MakerbookClient, MakerbookError, type SignedOrder } from '@makerbook/client';
import { topicNames } from '@makerbook/contracts-events';
import { formatUnits, parseUnits } from 'ethers';
import { admitMaker } from '../kit/admit-maker.js';
import { holdTokens } from './hold-tokens.js';
import { patchQuote } from './patch-quote.js';
import type { Stack } from './read-stack.js';
import { watchBook } from './watch-book.js';

const WAIT_MS_MAX = 30_000;
const POLL_MS = 250;

export interface StoryOptions {
  readonly stack: Stack;
  /** As configured for the services; empty unless several deployments share the broker. */
  readonly topicPrefix: string;
  readonly say: (line: string) => void;
  readonly nowMs: () => number;
}

/**
 * A maker's day, on a stack that runs: admitted, funded, three orders, without tokens for a while, each way to cancel;
 * and a trader's quote, patched and swapped.
 * @throws Error that says in a sentence what did not become true in time
 */
export async function tellStory({ stack, topicPrefix, say, nowMs }: StoryOptions): Promise<void> {
  const startedAtMs = nowMs();
  const [making, taking] = stack.tokens;
  if (making === undefined || taking === undefined) throw new Error('the stack has not two tokens');
  const amountOf = (amount: bigint) => `${formatUnits(amount, making.decimals)} ${making.symbol}`;
  const names = new Map<string, string>();
  let feedFailure: Error | undefined;
  const book = watchBook(stack.kafkaBrokers, topicPrefix, {
    isOurs: (orderHash) => names.has(orderHash),
    onNews: ({ orderHash, status }) => say(`      router  │ ${names.get(orderHash)} ${status}`),
    onFatal: (error) => {
      feedFailure = error;
    },
  });
  const step = (title: string) => say(`\n${((nowMs() - startedAtMs) / 1000).toFixed(1).padStart(5)} s  ${title}`);
  const holdings = await holdTokens(stack);
  try {
    const partitions = await book.log.partitionsOf(topicNames(topicPrefix).makerEvents);
    const client = createClient({
      ...stack,
      signer: holdings.wallet,
      now: nowMs,
      retry: { attemptsMax: 5, onRetry: ({ code }) => say(`      (again: ${code})`) },
    });
    const maker = await client.maker();

    step(`A maker has a fresh key: ${maker}`);
    const environment = {
      KAFKA_BROKERS: stack.kafkaBrokers,
      PARTITIONS: String(partitions),
      TOPIC_PREFIX: topicPrefix,
      LOG_LEVEL: 'error',
    };
    say(`      operator│ ${await admitMaker(maker, environment)}`);

    const funds = parseUnits('60', making.decimals);
    step(`It mints ${amountOf(funds)} and approves the LimitOrderProtocol for it`);
    await holdings.mint(making.address, funds);
    await holdings.approve(making.address, funds);

    step('It signs three orders, which costs no gas, and posts them');
    const orders: SignedOrder[] = [];
    for (const [index, units] of ['10', '20', '30'].entries()) {
      const amount = parseUnits(units, making.decimals);
      const order = await client.signOrder({
        making: { token: making.address, amount },
        taking: { token: taking.address, amount: parseUnits(units, taking.decimals) },
        expiresAt: Math.floor(nowMs() / 1000) + 3600,
      });
      names.set(order.orderHash, `#${index + 1} (${amountOf(amount)})`.padEnd(16));
      orders.push(order);
    }
    const [first, second, third] = orders;
    if (first === undefined || second === undefined || third === undefined) throw new Error('three orders are needed');
    const placed = await whenAdmitted(() => client.placeOrders(orders, { duplicateCountsAsStored: true }));
    for (const { orderHash, status } of placed) say(`      posted  │ ${names.get(orderHash)} ${status}`);
    const list = listingOf(client, names, say);
    const all = [first, second, third];
    await list.until('the service has checked nonce, balance and allowance: all three ACTIVE', all, 'ACTIVE');
    await routerKnows(all, 'ACTIVE');

    step('It lends all its tokens to a friend: each order is judged alone, and none is covered now');
    await holdings.lend(making.address, funds);
    await list.until('all three INACTIVE (INSUFFICIENT_BALANCE)', all, 'INACTIVE (INSUFFICIENT_BALANCE)');
    step('The friend gives them back');
    await holdings.takeBack(making.address, funds);
    await list.until('all three ACTIVE again', all, 'ACTIVE');

    step('It cancels #1 with a signature (DELETE): no gas, and gone from the list at once');
    const [outcome] = await client.cancelOrders([{ orderHash: first.orderHash, salt: first.order.salt }]);
    if (outcome?.status !== 'CANCELLED') throw new Error(`DELETE answered ${outcome?.status} for an open order`);
    await list.now('two are left', [second, third]);
    await routerKnows([first], 'gone (CANCELLED)');

    step('It cancels #2 on the chain (cancelOrder): nobody can ever fill it');
    await holdings.cancelOrder(second.order);
    await list.until('one is left', [third]);
    await routerKnows([second], 'gone (CANCELLED_ONCHAIN)');

    step('It cancels everything on the chain (cancelAllOrders)');
    say(`      chain   │ its nonce is ${await holdings.cancelAllOrders()} now`);
    await list.until('none is left', []);
    await routerKnows([third], 'gone (NONCE_CHANGED)');
    await patchQuote({ stack, client, step, say });
    step('The end: what the maker saw, the router saw too.');
  } finally {
    holdings.stop();
    await book.stop();
  }

  async function routerKnows(orders: readonly SignedOrder[], status: string): Promise<void> {
    await until(`the router’s topic says ${status}`, async () => {
      if (feedFailure !== undefined) throw feedFailure;
      const isKnown = orders.every(({ orderHash }) => book.last(orderHash) === status);
      return isKnown ? undefined : orders.map(({ orderHash }) => book.last(orderHash) ?? 'nothing').join(', ');
    });
  }

  function listingOf(client: MakerbookClient, known: ReadonlyMap<string, string>, tell: (line: string) => void) {
    const before = new Map<string, string>();

    /** Lists the orders, and tells what is new. */
    async function look(): Promise<Map<string, string>> {
      const { records } = await client.listOrders();
      const states = new Map<string, string>(
        records.map((record) => [
          record.orderHash,
          record.status === 'INACTIVE' ? `${record.status} (${record.reason})` : record.status,
        ]),
      );
      for (const [orderHash, state] of states) {
        if (before.get(orderHash) !== state) tell(`      list    │ ${known.get(orderHash)} ${state}`);
        before.set(orderHash, state);
      }
      for (const orderHash of before.keys()) {
        if (states.has(orderHash)) continue;
        tell(`      list    │ ${known.get(orderHash)} is no longer listed`);
        before.delete(orderHash);
      }
      return states;
    }

    /** What is wrong with the list: it holds other orders than these, or one of them is in another state. */
    function fault(states: Map<string, string>, orders: readonly SignedOrder[], state?: string): string | undefined {
      const isRight =
        states.size === orders.length &&
        orders.every(
          ({ orderHash }) => states.has(orderHash) && (state ?? states.get(orderHash)) === states.get(orderHash),
        );
      return isRight ? undefined : `it lists ${states.size} orders: ${[...states.values()].join(', ')}`;
    }

    return {
      until: (what: string, orders: readonly SignedOrder[], state?: string) =>
        until(`the list says: ${what}`, async () => fault(await look(), orders, state)),
      async now(what: string, orders: readonly SignedOrder[]): Promise<void> {
        const wrong = fault(await look(), orders);
        if (wrong !== undefined) throw new Error(`the list should say at once: ${what}; but ${wrong}`);
      },
    };
  }

  /** Looks again and again until nothing is wrong any more. */
  async function until(what: string, look: () => Promise<string | undefined>): Promise<void> {
    const deadlineMs = nowMs() + WAIT_MS_MAX;
    for (;;) {
      const wrong = await look();
      if (wrong === undefined) return;
      if (nowMs() > deadlineMs)
        throw new Error(`within ${WAIT_MS_MAX / 1000} s it did not happen that ${what}; ${wrong}`);
      await pause(POLL_MS);
    }
  }

  /** The whitelist reaches the services a moment after the operator has written it. */
  async function whenAdmitted<T>(call: () => Promise<T>): Promise<T> {
    const deadlineMs = nowMs() + WAIT_MS_MAX;
    for (;;) {
      try {
        return await call();
      } catch (error) {
        const isEarly = error instanceof MakerbookError && error.code === 'maker_not_whitelisted';
        if (!isEarly || nowMs() > deadlineMs) throw error;
        await pause(POLL_MS);
      }
    }
  }
}
