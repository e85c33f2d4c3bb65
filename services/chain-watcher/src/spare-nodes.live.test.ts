import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import type { NonceManager } from 'ethers';
import type { Watcher } from './run.js';
import { type AskedCall, type Gate, startGate } from './testing/gate-node.js';
import { addressOf, type SignedOrder, Stage, until } from './testing/stage-chain.js';

const ERC20 = deployArtifacts.TestToken.abi;
const PROTOCOL = deployArtifacts.LimitOrderProtocol.abi;
/** A call of `balanceOf(address)` among those of one request: one for each pair that is read. */
const BALANCE_OF = /70a082310{24}([0-9a-f]{40})/g;
/** Requests that come by the clock, and not for missed blocks. */
const SLACK = 10;

let stage: Stage;
let gate: Gate;
let token: Address;
let taking: Address;
let maker: NonceManager;
let watcher: Watcher | undefined;
/** The pairs of the one token. */
const pairs = new Set<string>();
/** The requests to the node, and the calls in each. */
const asked: AskedCall[][] = [];
/** How the node answers a range of logs of so many blocks, where it does not give them. */
let refuseRange: (blocks: number) => { readonly code: number; readonly message: string } | undefined = () => undefined;

beforeAll(async () => {
  stage = await Stage.open();
  token = await stage.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
  taking = await stage.deploy(deployArtifacts.TestToken, 'Taking', 'TAK', 18);
  maker = await stage.createAccount();
  await stage.send(maker, token, ERC20, 'approve', stage.protocolAddress, 10n ** 30n);
  await stage.send(stage.taker, token, ERC20, 'mint', addressOf(maker), 10n ** 30n);
  await stage.send(stage.taker, taking, ERC20, 'mint', addressOf(stage.taker), 10n ** 30n);
  await stage.send(stage.taker, taking, ERC20, 'approve', stage.protocolAddress, 10n ** 30n);
  gate = await startGate(stage.anvil.rpcUrl, async (calls) => {
    asked.push([...calls]);
    const [range] = calls.flatMap((call) => rangeOf(call) ?? []);
    return range && refuseRange(range.blocks);
  });
});
afterEach(async () => {
  refuseRange = () => undefined;
  await watcher?.stop();
  watcher = undefined;
});
afterAll(async () => {
  await gate?.close();
  await stage?.close();
});

const callsOf = (method: string) => asked.flat().filter((call) => call.method === method);
/** The range of blocks whose logs are asked for; undefined for another call, and for the logs of one block by its hash. */
const rangeOf = ({ method, params }: AskedCall): { from: number; to: number; blocks: number } | undefined => {
  const { fromBlock, toBlock } = (params[0] ?? {}) as { fromBlock?: string; toBlock?: string };
  if (method !== 'eth_getLogs' || fromBlock === undefined || toBlock === undefined) return undefined;
  const [from, to] = [Number(fromBlock), Number(toBlock)];
  return { from, to, blocks: to - from + 1 };
};
/** Starts a watcher that has the chain up to its head, with its questions counted from here on. */
const watch = async (settings: Record<string, string> = {}) => {
  asked.length = 0;
  watcher = await stage.watch({ RPC_URL: gate.url, ...settings });
  await stage.settled();
};
const stop = async () => {
  await watcher?.stop();
  watcher = undefined;
};
const sign = (by: NonceManager): Promise<SignedOrder> =>
  stage.sign(by, { making: { token, amount: 100n }, taking: { token: taking, amount: 100n } });
const submit = async (signed: SignedOrder) => {
  pairs.add(signed.order.maker);
  await stage.submit(signed);
};
/** So many makers more, each with an order: as many pairs. */
const openPairs = async (count: number) => {
  const signed: SignedOrder[] = [];
  for (let n = 0; n < count; n += 1) signed.push(await sign(await stage.createAccount()));
  for (const order of signed) await submit(order);
  await until('all orders are read', () =>
    signed.every(({ orderHash }) => stage.state(orderHash)?.status === 'INACTIVE'),
  );
  // An order is taken for unread until a block stands behind its reading.
  await stage.mine(2);
  await stage.settled();
};

describe('a long catch-up', () => {
  const FEW = 4;
  const MANY = 32;
  const blocksInLog = () =>
    stage.facts.filter(({ partition, fact }) => partition === 0 && fact.type === 'BlockProcessed').length;
  const catchUp = async (missedBlocks: number) => {
    await stage.mine(missedBlocks);
    const before = blocksInLog();
    // It hardly ever asks for the next block, however long this test takes.
    await watch({ MULTICALL_CALLS_MAX: '12', POLL_INTERVAL_MS: '60000' });
    await stop();
    // The head alone, for all those that were missed.
    expect(blocksInLog()).toBe(before + 1);
    return { requests: asked.length, calls: asked.flat().length, reads: callsOf('eth_call').length };
  };

  test('costs a node the same for 300 missed blocks and for 3,000, and more only with the number of pairs', async () => {
    await watch();
    await openPairs(FEW);
    await stop();
    const [few, fewOverMore] = [await catchUp(300), await catchUp(3000)];
    await watch();
    await openPairs(MANY - FEW);
    await stop();
    const [many, manyOverMore] = [await catchUp(300), await catchUp(3000)];
    for (const [short, long] of [
      [few, fewOverMore],
      [many, manyOverMore],
    ] as const) {
      expect(long.calls).toBeLessThanOrEqual(short.calls + SLACK);
      expect(long.requests).toBeLessThanOrEqual(short.requests + SLACK);
    }
    expect(few.requests).toBeLessThan(30);
    expect(few.reads).toBeGreaterThan(0);
    expect(many.reads / few.reads).toBeGreaterThan(MANY / FEW / 2);
    expect(many.reads / few.reads).toBeLessThan((MANY / FEW) * 1.5);
  });

  test.each([
    ['too many blocks', -32005, 'query exceeds the range of 100 blocks'],
    ['too many logs', -32602, 'query returned more than 10000 results'],
    ['want of time', -32000, 'request timed out'],
  ])(
    'asks a node that does not give a range, for %s, for halves of it, and misses nothing',
    async (_why, code, message) => {
      const [filled, cancelled] = [await sign(maker), await sign(maker)];
      const fill = (part: bigint) =>
        stage.send(
          stage.taker,
          stage.protocolAddress,
          PROTOCOL,
          'fillOrder',
          filled.order,
          filled.signature,
          part,
          100n,
        );
      await watch();
      await submit(filled);
      await submit(cancelled);
      await until('both are read', () =>
        [filled, cancelled].every(({ orderHash }) => stage.state(orderHash)?.status === 'ACTIVE'),
      );
      await stage.mine();
      await stage.settled();
      await stop();
      const processed = stage.processedBlock();
      // At both ends, and in the middle.
      await fill(10n);
      await stage.mine(150);
      await stage.send(maker, stage.protocolAddress, PROTOCOL, 'cancelOrder', cancelled.order);
      await stage.mine(150);
      await fill(20n);
      const head = await stage.provider.getBlockNumber();

      refuseRange = (blocks) => (blocks > 100 ? { code, message } : undefined);
      await watch();
      expect(stage.state(cancelled.orderHash)).toEqual({ status: 'REMOVED', reason: 'CANCELLED_ONCHAIN' });
      expect(stage.remaining(filled.orderHash)).toBe(70n);
      const ranges = asked.flat().flatMap((call) => rangeOf(call) ?? []);
      for (const [index, { from, blocks }] of ranges.entries()) {
        const next = ranges[index + 1];
        if (blocks > 100) expect(next).toMatchObject({ from, blocks: Math.ceil(blocks / 2) });
      }
      const given = ranges.filter(({ blocks }) => blocks <= 100);
      expect(given.map(({ from }) => from)).toEqual([processed + 1, ...given.slice(0, -1).map(({ to }) => to + 1)]);
      expect(given.at(-1)?.to).toBe(head);
      // 302 blocks, 151, and four of 76 or a few more: it remembers what is given.
      expect(ranges.length).toBeLessThan(10);
    },
  );
});

describe('the sweep', () => {
  const PAIRS_PER_SECOND = 10;

  test('reads as many pairs in a second as configured, one after another', async () => {
    await watch({ SWEEP_PAIRS_PER_SECOND: String(PAIRS_PER_SECOND) });
    await openPairs(2 * PAIRS_PER_SECOND);
    asked.length = 0;
    const startedAtMs = Date.now();
    await new Promise((resolve) => setTimeout(resolve, 4000));
    const swept = callsOf('eth_call').flatMap(({ params }) => {
      const { data } = params[0] as { data: string };
      return [...data.matchAll(BALANCE_OF)].map(([, holder]) => holder);
    });
    const seconds = (Date.now() - startedAtMs) / 1000;
    expect(swept.length / seconds).toBeGreaterThan(PAIRS_PER_SECOND * 0.3);
    expect(swept.length / seconds).toBeLessThan(PAIRS_PER_SECOND * 1.5);
    const times = [...pairs].map((pair) => swept.filter((holder) => `0x${holder}` === pair).length);
    expect(Math.max(...times) - Math.min(...times)).toBeLessThanOrEqual(1);
  });
});
