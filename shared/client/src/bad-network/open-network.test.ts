import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { orderTypes } from '@makerbook/contracts-evm/typed-data';
import { paths } from '@makerbook/contracts-http/paths';
import type { Hex } from '@makerbook/contracts-primitives';
import { TypedDataEncoder } from 'ethers';
import { createClient } from '../create-client.js';
import type { LimitOrderRecord, SignedOrder } from '../index.js';
import { type AskedRequest, answer, CONTRACT, fakeService, refuse } from '../testing/fake-service.js';
import { BotJudge, type FinalState, GRACE_MS } from './judge-bot.js';
import { openNetwork } from './open-network.js';

const ROUNDS = 40;
/** The network learns that an answer has gone out a moment after the bot has it. */
const SETTLE_MS = 200;
const domain = { name: 'Test Limit Order Protocol', version: 'v0', chainId: 8217, verifyingContract: CONTRACT };
const hashOrder = (order: unknown) =>
  TypedDataEncoder.hash(domain, orderTypes, order as Record<string, unknown>) as Hex;
const opened: { close(): Promise<void> }[] = [];
afterEach(() => Promise.all(opened.splice(0).map(({ close }) => close())));

/** Opens a service that keeps orders, a bad network before it, and a bot's client. */
async function open(seed: number) {
  const orders = new Map<string, LimitOrderRecord>();
  const handle = ({ method, path, body }: AskedRequest): Response => {
    if (path === paths.cancellations) {
      return answer(
        (body as LimitOrderRecord[]).map(({ orderHash }) => ({
          orderHash,
          status: orders.delete(orderHash) ? 'CANCELLED' : 'NOT_FOUND',
        })),
      );
    }
    if (method === 'GET') return answer([...orders.values()]);
    const placed = (body as SignedOrder[]).map((one) => ({
      ...one,
      orderHash: hashOrder(one.order),
      status: 'ACTIVE' as const,
    }));
    if (placed.some(({ orderHash }) => orders.has(orderHash))) return refuse('duplicate');
    for (const order of placed) orders.set(order.orderHash, order);
    return answer(placed);
  };
  const judge = new BotJudge(Date.now());
  const service = fakeService(Date.now, handle);
  const network = await openNetwork({
    baseUrl: 'http://x',
    port: 0,
    seed,
    judge,
    hashOrder,
    fetch: service.fetch,
    nowMs: Date.now,
    lateMs: { min: 1, max: 5 },
  });
  opened.push(network);
  const client = createClient({
    baseUrl: network.url,
    signer: `0x${'1f'.repeat(32)}`,
    chainId: 8217,
    serviceName: 'Test',
    limitOrderProtocol: CONTRACT,
  });
  const sign = async () =>
    client.signOrder({
      making: { token: `0x${'ab'.repeat(20)}`, amount: 1n },
      taking: { token: `0x${'cd'.repeat(20)}`, amount: 1n },
      expiresAt: 4_000_000_000,
    });
  /** @returns the checks that failed, judged a while after the bot's last round */
  function failures(): readonly string[] {
    const nowMs = Date.now() + GRACE_MS + 1;
    const states = new Map(
      [...orders.keys(), ...judge.believedOpen].map((hash) => [hash, stateOf(hash)] as [`0x${string}`, FinalState]),
    );
    judge.noteRequest(nowMs, null);
    return judge.judge(nowMs, states).flatMap(({ check, passed }) => (passed ? [] : check));
  }
  const stateOf = (hash: string): FinalState => (orders.has(hash) ? { isOpen: true } : { isOpen: false, endedAtMs: 0 });
  return { client, sign, failures, network, service };
}

const orNothing = () => undefined;

describe('over a bad network', () => {
  test.each([2, 3])('a bot that takes a missing answer for a refusal fails, seed %i', async (seed) => {
    const { client, sign, failures } = await open(seed);
    let last: SignedOrder | undefined;
    for (let round = 0; round < ROUNDS; round += 1) {
      if (last !== undefined) await client.cancelOrders([last]).catch(orNothing);
      const order = await sign();
      last = await client.placeOrders([order]).then(() => order, orNothing);
    }
    expect(failures()).toContain('knows_every_order');
  });

  test.each([1, 2])('a bot that lists until it has an answer passes, seed %i', async (seed) => {
    const { client, sign, failures, network } = await open(seed);
    const list = async (): Promise<readonly LimitOrderRecord[]> =>
      (await client.listOrders().catch(orNothing))?.records ?? list();
    for (let round = 0; round < ROUNDS; round += 1) {
      const records = await list();
      if (records.length > 0) await client.cancelOrders(records).catch(orNothing);
      else await client.placeOrders([await sign()]).catch(orNothing);
    }
    await list();
    await pause(SETTLE_MS);
    expect(failures()).toEqual([]);
    const faults = new Set(Object.keys(network.counts).map((name) => name.split(': ')[1]));
    expect([...faults]).toEqual(expect.arrayContaining(['answer_lost', 'request_lost', 'passed']));
  });

  test('the same seed does the same to the same requests', async () => {
    const [one, two] = [await open(7), await open(7)];
    for (const { client } of [one, two])
      for (let call = 0; call < 40; call += 1) await client.listOrders().catch(orNothing);
    expect(one.network.counts).toEqual(two.network.counts);
  });

  test('the same seed does the same to requests that are sent at once', async () => {
    const asked = async (atOnce: number) => {
      const { client, network } = await open(7);
      for (let call = 0; call < 60; call += atOnce)
        await Promise.all(Array.from({ length: atOnce }, () => client.listOrders().catch(orNothing)));
      await pause(SETTLE_MS);
      return network.counts;
    };
    expect(await asked(20)).toEqual(await asked(1));
  });

  test('a cancellation may be sent twice unchanged, with the same salt', async () => {
    const { failures, network } = await open(1);
    const cancel = () => fetch(`${network.url}${paths.limitOrders}?salt=0x1`, { method: 'DELETE' }).catch(orNothing);
    await cancel();
    await cancel();
    expect(failures()).not.toContain('signs_reads_anew');
  });
});
