import { afterAll, describe, expect, test } from '@jest/globals';
import { deployArtifacts, eventTopics } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import { type LoggingBlock, RpcRefused, RpcUnavailable, readBlockAndHead, readLogs, readLogsOfRange } from './index.js';
import { openChain } from './testing/open-chain.js';

type Call = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };
/** Replaces the node's own result by another one, or by a refusal. */
type Forge = (method: string, result: unknown, times: number) => unknown;

const filter = { topics: [eventTopics.transfer] };
const chain = await openChain();
afterAll(() => chain.stop());
const { provider } = chain;
const { rpcUrl } = chain.anvil;
const nodeOf = (...urls: string[]) => chain.openNode(urls);

const newest = async (): Promise<LoggingBlock> => {
  const number = await provider.getBlockNumber();
  const { block, logsBloom } = await readBlockAndHead(nodeOf(rpcUrl), number);
  if (block === undefined) throw new Error('no newest block');
  expect(logsBloom).toHaveLength(514);
  return { number, hash: block.hash, logsBloom };
};
/** A node whose results are forged. `times` counts the requests to it, from 1. */
const forging = async (forge: Forge): Promise<{ readonly url: string; readonly asked: Call[][] }> => {
  const asked: Call[][] = [];
  const url = await chain.serve(async (body) => {
    const calls = [JSON.parse(body)].flat() as Call[];
    const times = asked.push(calls);
    const { status, body: real } = await chain.forward(body);
    const forged = ([JSON.parse(real)].flat() as { id: number; result: unknown }[]).map((answer) => {
      const call = calls.find(({ id }) => id === answer.id);
      const result = forge(call?.method ?? '', answer.result, times);
      return result instanceof RpcRefused
        ? { id: answer.id, error: { code: result.code, message: result.reason } }
        : { ...answer, result };
    });
    return { status, body: JSON.stringify(forged.length === 1 ? forged[0] : forged) };
  });
  return { url, asked };
};
const emptyUntil =
  (honestFrom: number): Forge =>
  (method, result, times) =>
    method === 'eth_getLogs' && times < honestFrom ? [] : result;

const token = await chain.deploy(deployArtifacts.TestToken, 'T', 'T', 18);
const mint = async () => {
  await chain.send(token, 'mint', chain.account, 1n);
  return newest();
};
/** Two blocks with a Transfer each, and one without logs. */
const [first, second] = [await mint(), await mint()];
await provider.send('anvil_mine', ['0x1']);
const empty = await newest();
const expected = await readLogs(nodeOf(rpcUrl), second, filter);
expect(expected).toHaveLength(1);

describe('an empty list of logs', () => {
  test('is not believed if another node gives the logs that the header promises', async () => {
    const liar = await forging(emptyUntil(100));
    expect(await readLogs(nodeOf(liar.url, rpcUrl), second, filter)).toEqual(expected);
    expect(liar.asked).toHaveLength(1);
  });

  test('is asked for again if the header promises logs and there is only one node', async () => {
    const late = await forging(emptyUntil(2));
    expect(await readLogs(nodeOf(late.url), second, filter)).toEqual(expected);
    expect(late.asked).toHaveLength(2);
  });

  test('is asked for again if the other nodes lack the block or are down', async () => {
    const late = await forging(emptyUntil(2));
    const behind = await forging((method) => (method === 'eth_getLogs' ? [] : null));
    const away = 'http://127.0.0.1:9';
    expect(await readLogs(nodeOf(late.url, behind.url, away), second, filter)).toEqual(expected);
    expect([late.asked.length, behind.asked.length]).toEqual([2, 1]);
  });

  test('is believed once it comes twice: a bloom may hold what no log has', async () => {
    const full: LoggingBlock = { ...empty, logsBloom: `0x${'f'.repeat(512)}` };
    const [one, other] = [await forging((_, result) => result), await forging((_, result) => result)];
    expect(await readLogs(nodeOf(one.url, other.url), full, filter)).toEqual([]);
    expect([one.asked.length, other.asked.length]).toEqual([1, 1]);
    expect(await readLogs(nodeOf(one.url), full, filter)).toEqual([]);
    expect(one.asked).toHaveLength(3);
  });

  test.each([
    ['speaks for none', () => empty, 0],
    ['has no bloom', () => ({ ...second, logsBloom: undefined }), 1],
    ['has a bloom of zeros, on a chain that fills none', () => ({ ...second, logsBloom: `0x${'0'.repeat(512)}` }), 1],
  ])('is believed at once if the header %s', async (_what, blockOf, logs) => {
    const header = blockOf() as LoggingBlock;
    const honest = await forging((_, result) => result);
    expect(await readLogs(nodeOf(honest.url), header, filter)).toHaveLength(logs);
    const liar = await forging(emptyUntil(100));
    expect(await readLogs(nodeOf(liar.url), header, filter)).toEqual([]);
    expect([honest.asked.length, liar.asked.length]).toEqual([1, 1]);
  });
});

test('more logs than a node of Kaia gives are read from the receipts', async () => {
  const count = 10_001;
  const topic = eventTopics.transfer.slice(2);
  // Emits `count` events in its constructor.
  const data = `0x61${count.toString(16).padStart(4, '0')}5b7f${topic}60006000a16001900380600357`;
  const sent = await (await chain.createAccount()).sendTransaction({ data, gasLimit: 20_000_000 });
  const address = (await sent.wait())?.contractAddress?.toLowerCase() as Address;
  const full = await newest();
  const logs = await readLogs(nodeOf(rpcUrl), full, { ...filter, address });
  expect(logs.map(({ logIndex }) => logIndex)).toEqual(Array.from({ length: count }, (_, index) => index));
});

describe('logs that a node refuses', () => {
  const tooMany = new RpcRefused('eth_getLogs', -32005, 'query returned more than 10000 results');

  test('are read from its receipts, even if these have none', async () => {
    const full = await forging((method, result) => (method === 'eth_getLogs' ? tooMany : result));
    expect(await readLogs(nodeOf(full.url), second, filter)).toEqual(expected);
    const strict = await forging((method) => (method === 'eth_getLogs' ? tooMany : []));
    expect(await readLogs(nodeOf(strict.url), second, filter)).toEqual([]);
  });

  test('are refused with the first error if it serves no receipts', async () => {
    const unknown = new RpcRefused('eth_getBlockReceipts', -32601, 'the method does not exist');
    const bare = await forging((method) => (method === 'eth_getLogs' ? tooMany : unknown));
    await expect(readLogs(nodeOf(bare.url), second, filter)).rejects.toMatchObject({ code: tooMany.code });
  });
});

describe('logs of another block', () => {
  const logsOf = async ({ hash: blockHash }: LoggingBlock) =>
    (await provider.send('eth_getLogs', [{ blockHash, topics: [[eventTopics.transfer]] }])) as object[];

  test('are a failure of the node that gave them, and the next node is asked', async () => {
    const others = await logsOf(first);
    const wrong = await forging((method, result) => (method === 'eth_getLogs' ? others : result));
    expect(await readLogs(nodeOf(wrong.url, rpcUrl), second, filter)).toEqual(expected);
    const failure = await readLogs(nodeOf(wrong.url), second, filter).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RpcUnavailable);
    expect((failure as Error).message).toMatch(/gave logs of another block than \d+/);
  });

  test.each([
    ['number', () => ({ blockNumber: '0x1' })],
    ['hash', () => ({ blockHash: first.hash })],
  ])('are found even if only the %s is wrong', async (_what, forged) => {
    const moved = (await logsOf(second)).map((log) => ({ ...log, ...forged() }));
    const wrong = await forging((method, result) => (method === 'eth_getLogs' ? moved : result));
    await expect(readLogs(nodeOf(wrong.url), second, filter)).rejects.toThrow(/another block/);
  });

  test.each([
    ['of another range', () => logsOf(first), /logs of other blocks than \d+ to \d+/],
    [
      'of a block that is no more',
      async () => (await logsOf(second)).map((log) => ({ ...log, removed: true })),
      /of a block that it has removed/,
    ],
  ])('are a failure in a range too: logs %s', async (_what, forged, message) => {
    const logs = await forged();
    const wrong = await forging((method, result) => (method === 'eth_getLogs' ? logs : result));
    const range = [second.number, empty.number, filter] as const;
    expect(await readLogsOfRange(nodeOf(wrong.url, rpcUrl), ...range)).toEqual(expected);
    await expect(readLogsOfRange(nodeOf(wrong.url), ...range)).rejects.toThrow(message);
  });
});
