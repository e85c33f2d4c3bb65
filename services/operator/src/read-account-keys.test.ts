import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, jest, test } from '@jest/globals';
import { warnOfChangedKeys } from './read-account-keys.js';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A node that answers `kaia_getAccountKey` as Kaia does: null for an account that is not there. */
async function openNode(answer: (address: string) => object): Promise<string> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      const calls = [JSON.parse(body)].flat() as { id: number; method: string; params: [string, string] }[];
      const answers = calls.map(({ id, method, params }) => ({
        jsonrpc: '2.0',
        id,
        ...(method === 'eth_chainId' ? { result: '0x2019' } : answer(params[0])),
      }));
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(body.startsWith('[') ? answers : answers[0]));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('only an account whose key was changed on the chain gets a warning', async () => {
  const types: Record<string, object> = {
    '0x01': { result: { keyType: 1, key: {} } },
    '0x02': { result: { keyType: 2, key: { x: '0x1', y: '0x2' } } },
    '0x04': { result: { keyType: 4, key: {} } },
    '0x00': { result: null },
  };
  const url = await openNode((address) => types[address] ?? {});
  const warnings = await warnOfChangedKeys(['0x00', '0x01', '0x02', '0x04'], url);
  expect(warnings).toEqual([
    expect.stringMatching(/^0x02 .*account key type 2/),
    expect.stringMatching(/^0x04 .*account key type 4/),
  ]);
});

test('there is no warning without a node, or if the node does not know account keys', async () => {
  const url = await openNode(() => ({ error: { code: -32601, message: 'the method does not exist' } }));
  expect(await warnOfChangedKeys(['0x01'], url)).toEqual([]);
  expect(await warnOfChangedKeys(['0x01'], '')).toEqual([]);
});

test('a node that is down gives no warning, and nothing is printed', async () => {
  const print = jest.spyOn(console, 'log').mockImplementation(() => undefined);
  closing.push(() => print.mockRestore());
  expect(await warnOfChangedKeys(['0x01'], 'http://127.0.0.1:1')).toEqual([]);
  expect(print).not.toHaveBeenCalled();
});
