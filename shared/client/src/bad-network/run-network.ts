import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { orderTypes } from '@makerbook/contracts-evm/typed-data';
import type { Info } from '@makerbook/contracts-http';
import { type Hex, WrongValue } from '@makerbook/contracts-primitives';
import { TypedDataEncoder } from 'ethers';
import type { MakerbookClient } from '../create-client.js';
import { MakerbookError } from '../errors.js';
import { retry } from '../retry-calls.js';
import { BotJudge, type FinalState } from './judge-bot.js';
import { openNetwork } from './open-network.js';
import type { HashOrder } from './read-exchange.js';

/** A bot that did not pass. */
export class BotFailed extends Error {
  override readonly name = 'BotFailed';
}

export interface NetworkRun {
  readonly baseUrl: string;
  readonly port: number;
  readonly seed: number;
  readonly seconds: number;
  readonly fetch: typeof fetch;
  readonly info: Info;
  /** Reaches the service without the network. Signs by the key of the bot's maker, if there is one. */
  readonly client: MakerbookClient;
  readonly hasKey: boolean;
}

/**
 * Runs the network between a bot and the service until the time is over, or Ctrl-C. Then tells what the bot had to
 * notice, and whether it did.
 * @throws BotFailed after the last verdict, if one is against the bot
 */
export async function* runNetwork({
  client,
  info,
  hasKey,
  seconds,
  ...network
}: NetworkRun): AsyncGenerator<object, void, void> {
  const aheadMs = (await client.serverTimeMs()) - Date.now();
  const nowMs = () => Date.now() + aheadMs;
  const judge = new BotJudge(nowMs());
  // The bot need not hear of orders that were open before.
  if (hasKey) judge.expect(await listOpen(client), nowMs());
  const { url, counts, close } = await openNetwork({ ...network, judge, hashOrder: hashOrderOf(info), nowMs }).catch(
    (error: NodeJS.ErrnoException) => {
      throw new WrongValue('--port', `must be a free port: ${error.code}`);
    },
  );
  try {
    yield { url, service: network.baseUrl, seed: network.seed, seconds };
    const over = new AbortController();
    await Promise.race([
      pause(1000 * seconds, undefined, { signal: over.signal }),
      once(process, 'SIGINT', { signal: over.signal }),
    ]).finally(() => over.abort());
    const states = hasKey ? await readStates(client, judge) : undefined;
    const verdicts = judge.judge(nowMs(), states);
    yield { requests: counts };
    yield { unanswered: { stored: [...judge.unanswered.stored], ended: [...judge.unanswered.ended] } };
    yield* verdicts;
    const failed = verdicts.filter(({ passed }) => !passed).map(({ check }) => check);
    if (failed.length > 0) throw new BotFailed(`the bot failed: ${failed.join(', ')}`);
  } finally {
    await close();
  }
}

function hashOrderOf({ domains }: Info): HashOrder {
  return (order) => {
    try {
      return TypedDataEncoder.hash(domains.order, orderTypes, order as Record<string, unknown>) as Hex;
    } catch {
      return undefined;
    }
  };
}

/** The states of the orders that are open, and of those that the bot takes to be open. */
async function readStates(client: MakerbookClient, judge: BotJudge): Promise<ReadonlyMap<Hex, FinalState>> {
  const open = await listOpen(client);
  const states = new Map<Hex, FinalState>(open.map((hash) => [hash, { isOpen: true }]));
  for (const hash of judge.believedOpen) {
    if (states.has(hash)) continue;
    const { status, timeline } = await client.findOrder(hash);
    const removed = timeline.findLast(({ happened }) => happened === 'REMOVED');
    // A bot knows by itself when an order expires.
    const endedAtMs = status === 'EXPIRED' ? Number.POSITIVE_INFINITY : (removed?.loggedAtMs ?? 0);
    states.set(hash, { isOpen: false, endedAtMs });
  }
  return states;
}

/** The hashes of all open orders. Retries while the list is behind. */
async function listOpen(client: MakerbookClient): Promise<readonly Hex[]> {
  const { records } = await retry(async () => {
    const list = await client.listOrders();
    if (list.readLag === 0) return list;
    throw new MakerbookError({ code: 'unavailable', status: 503, detail: 'the list is behind', retryable: true });
  });
  return records.map(({ orderHash }) => orderHash as Hex);
}
