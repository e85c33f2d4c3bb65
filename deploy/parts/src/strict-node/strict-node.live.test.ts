import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startAnvil } from '../start-anvil.js';
import { until } from '../testing/until.js';
import { type StrictNode, startStrictNode } from './start-strict-node.js';

/** Contract code that does what its name says when it is called. */
const code = {
  reverts: '0x60006000fd',
  revertsWithData: '0x63aabbccdd6000526004601cfd',
  burns: '0x5b600056',
  breaks: '0xfe',
  /** Emits as many logs as the first word of the data says. */
  logs: '0x6000355b60006000a060019003806003575b00',
};
const at = (index: number) => `0x${(0xc0de0 + index).toString(16).padStart(40, '0')}`;
const addresses = Object.fromEntries(Object.keys(code).map((name, index) => [name, at(index)]));

const MANY_LOGS = 10_001;
const FIRST_BLOCKS = 128;

let plainUrl: string;
let node: StrictNode;
const closing: (() => Promise<void>)[] = [];
beforeAll(async () => {
  const chain = await startAnvil();
  closing.push(chain.stop);
  ({ node, plainUrl } = chain);
  for (const [name, bytes] of Object.entries(code)) await ask('anvil_setCode', addresses[name], bytes);
  await ask('anvil_mine', hex(FIRST_BLOCKS));
});
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

const post = (url: string, body: string) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
const textOf = (method: string, params: readonly unknown[] = []) =>
  JSON.stringify({ jsonrpc: '2.0', id: 7, method, params });
interface Answer {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}
const askAt = async (url: string, method: string, ...params: unknown[]) =>
  (await (await post(url, textOf(method, params))).json()) as Answer;
const ask = (method: string, ...params: unknown[]) => askAt(node.url, method, ...params);
const call = (to: string | undefined, other: object = {}, block: unknown = 'latest') =>
  ask('eth_call', { to, ...other }, block);
const head = async () => Number((await ask('eth_blockNumber')).result);
const hex = (value: number) => `0x${value.toString(16)}`;
const unknown = `0x${'ab'.repeat(32)}`;

describe('a strict node is like a node of Kaia', () => {
  test('in its limit on the gas of a call', async () => {
    expect((await call(at(99), { gas: hex(500_000_000) })).error).toBeUndefined();
    expect((await call(at(99), { gas: hex(500_000_001) })).error).toEqual({
      code: -32000,
      message: 'gas limit 500000001 exceeds the upper limit 500000000',
    });
  });

  test('in its limit on the size of a request', async () => {
    expect((await post(node.url, textOf('eth_chainId').padEnd(524_288))).status).toBe(200);
    const refused = await post(node.url, textOf('eth_chainId').padEnd(524_289));
    expect([refused.status, await refused.text()]).toEqual([413, 'content length too large (524289>524288)\n']);
  });

  test('in how far back it keeps the state', async () => {
    const newest = await head();
    expect((await call(at(99), {}, hex(newest - 100))).error).toBeUndefined();
    expect((await ask('eth_getBalance', at(99), hex(newest - 100))).result).toBe('0x0');
    for (const answer of [
      await call(at(99), {}, hex(newest - 101)),
      await ask('eth_getCode', at(99), hex(newest - 127)),
    ]) {
      expect(answer.error).toEqual({
        code: -32000,
        message: expect.stringMatching(/^missing trie node \w+ \(path \)$/),
      });
    }
  });

  test('in its answers about blocks that it does not know', async () => {
    expect((await call(at(99), {}, { blockHash: unknown })).error).toEqual({
      code: -32000,
      message: 'header for hash not found',
    });
    expect((await ask('eth_getLogs', { blockHash: unknown })).error).toEqual({
      code: -32000,
      message: `the header does not exist (hash: ${unknown})`,
    });
    expect((await ask('eth_getBlockByHash', unknown, false)).result).toBeNull();
    expect((await ask('eth_getBlockByNumber', hex(1_000_000), false)).result).toBeNull();
  });

  test.each([
    ['reverts', { code: -32000, message: 'evm: execution reverted' }],
    ['revertsWithData', { code: 3, message: expect.stringMatching(/^execution reverted/), data: '0xaabbccdd' }],
    ['burns', { code: -32000, message: 'out of gas' }],
    ['breaks', { code: -32000, message: 'VM error occurs while running smart contract' }],
  ])('in its error for a call that %s', async (name, error) => {
    expect((await call(addresses[name], { gas: hex(100_000) })).error).toEqual(error);
  });

  test('in its headers and fees', async () => {
    for (const block of [
      await ask('eth_getBlockByNumber', 'latest', false),
      await ask('eth_getBlockByNumber', hex(1), false),
    ]) {
      const header = block.result as Record<string, unknown>;
      expect(Object.keys(header)).not.toContain('totalDifficulty');
      expect(Object.keys(header)).not.toContain('withdrawals');
      expect(header).toMatchObject({ randomReveal: expect.any(String), blobGasUsed: '0x0' });
      expect(Number(header['baseFeePerGas'])).toBeGreaterThanOrEqual(25e9);
    }
    expect((await ask('eth_gasPrice')).result).toBe(hex(27.5e9));
    expect((await ask('eth_maxPriorityFeePerGas')).result).toBe('0x0');
    expect((await ask('eth_feeHistory', '0x1', 'latest', [])).error).toBeUndefined();
  });

  test('in its limit on the logs of one query', async () => {
    const [sender] = (await ask('eth_accounts')).result as string[];
    const emit = async (count: number) => {
      const data = `0x${count.toString(16).padStart(64, '0')}`;
      const sent = await ask('eth_sendTransaction', {
        from: sender,
        to: addresses['logs'],
        data,
        gas: hex(25_000_000),
      });
      expect(sent.error).toBeUndefined();
      return ask('eth_getLogs', { fromBlock: hex(await head()), toBlock: 'latest' });
    };
    expect(((await emit(10_000)).result as unknown[]).length).toBe(10_000);
    expect((await emit(MANY_LOGS)).error).toEqual({ code: -32000, message: 'query returned more than 10000 results' });
  });
});

describe('by the rules of another profile', () => {
  const open = async (profile: 'geth' | 'balancer') => {
    const other = await startStrictNode(plainUrl, { profile });
    closing.push(other.close);
    return (method: string, ...params: unknown[]) => askAt(other.url, method, ...params);
  };

  test('a node of Ethereum has other error messages, and does not refuse a call with too much gas', async () => {
    const asked = await open('geth');
    const called = async (to: string | undefined, other: object = {}, block: unknown = 'latest') =>
      (await asked('eth_call', { to, ...other }, block)).error?.message;
    expect(await called(addresses['reverts'])).toBe('execution reverted');
    expect(await called(addresses['breaks'])).toBe('invalid opcode: INVALID');
    expect(await called(addresses['burns'], { gas: hex(600_000_000) })).toBe('out of gas');
    expect((await asked('eth_getLogs', { blockHash: unknown })).error?.message).toBe('unknown block');
    const newest = await head();
    expect(await called(at(99), {}, hex(newest - 127))).toBeUndefined();
    expect(await called(at(99), {}, hex(newest - 128))).toMatch(/^missing trie node .* is not available, not found$/);
    const { result } = await asked('eth_getBlockByNumber', 'latest', false);
    expect(Object.keys(result as object)).toContain('withdrawals');
  });

  test('a balancer of a provider limits the size of a batch, and has its own code for too many logs', async () => {
    const balancer = await startStrictNode(plainUrl, { profile: 'balancer' });
    closing.push(balancer.close);
    const batch = (calls: number) =>
      post(balancer.url, JSON.stringify(Array(calls).fill(JSON.parse(textOf('eth_chainId')))));
    expect(await (await batch(100)).json()).toHaveLength(100);
    expect(JSON.stringify(await (await batch(101)).json())).toContain('batch too large');
    const logs = await askAt(balancer.url, 'eth_getLogs', { fromBlock: '0x0', toBlock: 'latest' });
    expect(logs.error?.code).toBe(-32005);
  });
});

describe('a node that is told', () => {
  test('to lag or to stand still knows no newer block, by number, by hash or as the newest', async () => {
    const behind = await node.beside();
    await ask('evm_mine');
    const newest = await head();
    const block = (await ask('eth_getBlockByNumber', 'latest', false)).result as { hash: string };
    for (const fault of [{ lagBlocks: 2 }, { frozenAt: newest - 2 }]) {
      behind.tell(fault);
      expect((await askAt(behind.url, 'eth_blockNumber')).result).toBe(hex(newest - 2));
      expect((await askAt(behind.url, 'eth_getBlockByNumber', 'latest', false)).result).toMatchObject({
        number: hex(newest - 2),
      });
      expect((await askAt(behind.url, 'eth_getBlockByNumber', hex(newest), false)).result).toBeNull();
      expect((await askAt(behind.url, 'eth_getBlockByHash', block.hash, false)).result).toBeNull();
      const { hash: blockHash } = block;
      expect((await askAt(behind.url, 'eth_call', { to: at(99) }, { blockHash })).error?.message).toBe(
        'header for hash not found',
      );
      expect((await askAt(behind.url, 'eth_getLogs', { blockHash })).error?.message).toMatch('does not exist');
      expect((await askAt(behind.url, 'eth_call', { to: at(99) }, 'latest')).error).toBeUndefined();
    }
    behind.tell({});
    expect((await askAt(behind.url, 'eth_blockNumber')).result).toBe(hex(newest));
  });

  test('to answer late, in part, with an error status or not at all does so until it is told otherwise', async () => {
    const told = await node.beside();
    told.tell({ latencyMs: 300 });
    const startedAtMs = performance.now();
    await askAt(told.url, 'eth_chainId');
    expect(performance.now() - startedAtMs).toBeGreaterThan(295);
    told.tell({ isHalf: true });
    await expect(askAt(told.url, 'eth_chainId')).rejects.toThrow(/JSON/);
    for (const status of [429, 503] as const) {
      told.tell({ status });
      expect((await post(told.url, textOf('eth_chainId'))).status).toBe(status);
    }
    told.tell({ isAway: true });
    await expect(post(told.url, textOf('eth_chainId'))).rejects.toThrow();
    told.tell({});
    expect((await askAt(told.url, 'eth_chainId')).result).toBe(hex(8217));
  });

  test('to lag announces over WebSocket only the blocks that it knows, with the headers of Kaia', async () => {
    const behind = await node.beside();
    const listen = async (url: string) => {
      const heard: Record<string, unknown>[] = [];
      const socket = new WebSocket(url);
      socket.addEventListener('open', () => socket.send(textOf('eth_subscribe', ['newHeads'])));
      socket.addEventListener('message', ({ data }) => heard.push(JSON.parse(String(data))));
      await until('it is subscribed', () => heard.length > 0);
      expect(heard.shift()).toMatchObject({ id: 7, result: expect.any(String) });
      closing.push(async () => socket.close());
      return () => heard.map(({ params }) => (params as { result: { number: string } }).result);
    };
    const [ofNode, ofBehind] = [await listen(node.wsUrl), await listen(behind.wsUrl)];
    behind.tell({ lagBlocks: 1 });
    const newest = await head();
    for (let blocks = 0; blocks < 3; blocks += 1) await ask('evm_mine');
    await until('three are announced', () => ofNode().length === 3 && ofBehind().length === 3);
    expect(ofNode().map(({ number }) => Number(number) - newest)).toEqual([1, 2, 3]);
    expect(ofBehind().map(({ number }) => Number(number) - newest)).toEqual([0, 1, 2]);
    expect(ofNode()[0]).toMatchObject({ randomReveal: expect.any(String) });
  });
});
