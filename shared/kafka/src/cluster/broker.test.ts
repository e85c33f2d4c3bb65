import { createServer, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { metadataV9 } from '@platformatic/kafka';
import { quiet } from '../testing/open-test-log.js';
import { Broker } from './broker.js';
import { deadlineIn } from './deadline.js';

test('a call that stays unanswered is reported as late again and again', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as { port: number };
  const options = { brokers: [`127.0.0.1:${port}`], clientId: 'test', logger: quiet };
  const told: number[] = [];
  const begunAt = performance.now();
  const late = { afterMs: 300, tell: () => told.push(performance.now() - begunAt) };
  const broker = new Broker({ host: '127.0.0.1', port }, options, late);
  await expect(broker.call(metadataV9.api, deadlineIn(1_000), [], false)).rejects.toThrow('no answer in time');
  expect(told.length).toBeGreaterThanOrEqual(2);
  expect(told[0]).toBeGreaterThan(290);
  broker.close();
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => silent.close(resolve));
});
