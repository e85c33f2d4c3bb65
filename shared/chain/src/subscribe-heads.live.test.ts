import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, test } from '@jest/globals';
import { startAnvil, until } from '@makerbook/parts';
import { WebSocketServer } from 'ws';
import { createNode, subscribeHeads } from './index.js';

const anvil = await startAnvil();
afterAll(() => anvil.stop());

describe('a subscription to heads', () => {
  test('announces each block of a real node by its number', async () => {
    const node = createNode({ urls: [anvil.rpcUrl], monotonicMs: () => 0 });
    const heads: unknown[] = [];
    const heard = (number: number | undefined) => heads.push(number);
    const subscription = subscribeHeads({ url: anvil.wsUrl, onHead: heard, onBroken: () => undefined });
    await until(() => subscription.isOpen());
    for (let n = 1; n <= 3; n += 1) {
      await node.call('evm_mine', []);
      await until(() => heads.length === n);
    }
    subscription.close();
    await node.call('evm_mine', []);
    expect(heads).toEqual([1, 2, 3]);
    node.close();
  });

  test('is opened again if it breaks, is refused, or falls silent', async () => {
    let connections = 0;
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    server.on('connection', (socket) => {
      connections += 1;
      const nth = connections;
      socket.on('message', () => {
        if (nth === 1) socket.close();
        else if (nth === 2) socket.send('{"id":1,"error":{"code":-32601,"message":"no subscriptions"}}');
        else if (nth === 3) socket.send('no JSON');
        else {
          socket.send('{"id":1,"result":"0x1"}');
          socket.send('{"method":"eth_subscription","params":{}}');
        }
      });
    });
    await new Promise<void>((resolve) => server.once('listening', resolve));
    const reasons: string[] = [];
    const heads: unknown[] = [];
    const subscription = subscribeHeads({
      url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
      onHead: (number) => heads.push(number),
      onBroken: (reason) => reasons.push(reason),
      silenceMsMax: 2000,
      restMs: 5,
    });
    await until(() => heads.length === 1);
    expect(heads).toEqual([undefined]);
    expect(subscription.isOpen()).toBe(true);
    expect(reasons.slice(0, 3)).toEqual([
      'closed with 1005',
      expect.stringContaining('no subscriptions'),
      'nothing came for 2000 ms',
    ]);
    subscription.close();
    for (const client of server.clients) client.terminate();
    await new Promise((resolve) => server.close(resolve));
  });
});
