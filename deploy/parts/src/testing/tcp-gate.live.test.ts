import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { openTcpGate } from './tcp-gate.js';

const DELAY_MS = 200;

test('what is sent through a slow gate comes later, whole and in its order, also where the delay ends meanwhile', async () => {
  const echo = createServer((socket) => socket.pipe(socket));
  await once(echo.listen(0, '127.0.0.1'), 'listening');
  const gate = await openTcpGate(`tcp://127.0.0.1:${(echo.address() as AddressInfo).port}`);
  const socket = connect(Number(new URL(gate.url).port), '127.0.0.1');
  await once(socket, 'connect');
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
  });
  gate.slow(DELAY_MS);
  const sentAtMs = performance.now();
  socket.write('first, ');
  await pause(DELAY_MS / 2);
  gate.slow(0);
  socket.write('second');
  while (!received.endsWith('second')) await pause(5);
  expect(received).toBe('first, second');
  expect(performance.now() - sentAtMs).toBeGreaterThanOrEqual(DELAY_MS - 1);
  socket.destroy();
  await gate.close();
  echo.close();
});
