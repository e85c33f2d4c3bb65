import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startAnvil } from '../start-anvil.js';
import type { Gate } from './misbehaving-node.js';
import { startStrictNode } from './strict-node.js';

/** Code that does as its name says when it is called. */
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

let node: Gate;
const closing: (() => Promise<void>)[] = [];
beforeAll(async () => {
  const chain = await startAnvil();
  closing.push(chain.stop);
  node = await startStrictNode(chain.rpcUrl);
  closing.push(node.close);
  for (const [name, bytes] of Object.entries(code)) await ask('anvil_setCode', addresses[name], bytes);
  await ask('anvil_mine', '0x80');
});
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

async function ask(method: string, ...params: unknown[]) {
  const response = await fetch(node.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
  });
  return (await response.json()) as { result?: unknown; error?: { code: number; message: string; data?: unknown } };
}
const call = (to: string | undefined, other: object = {}, block: unknown = 'latest') =>
  ask('eth_call', { to, ...other }, block);
const head = async () => Number((await ask('eth_blockNumber')).result);
const hex = (value: number) => `0x${value.toString(16)}`;
const unknown = `0x${'ab'.repeat(32)}`;

describe('a strict node is like one of Kaia', () => {
  test('in the gas of a call', async () => {
    expect((await call(at(99), { gas: hex(500_000_000) })).error).toBeUndefined();
    expect((await call(at(99), { gas: hex(500_000_001) })).error).toEqual({
      code: -32000,
      message: 'gas limit 500000001 exceeds the upper limit 500000000',
    });
  });

  test('in the size of a request', async () => {
    const post = (length: number) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }).padEnd(length);
      return fetch(node.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    };
    expect((await post(524_288)).status).toBe(200);
    const refused = await post(524_289);
    expect([refused.status, await refused.text()]).toEqual([413, 'content length too large (524289>524288)\n']);
  });

  test('in how far back it has the state', async () => {
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

  test('in blocks that it does not know', async () => {
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
  ])('in its words for a call that %s', async (name, error) => {
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

  test('in the logs that one question may have', async () => {
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
    expect((await emit(10_001)).error).toEqual({ code: -32000, message: 'query returned more than 10000 results' });
  });
});
