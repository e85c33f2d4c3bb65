import { afterEach, expect, test } from '@jest/globals';
import { replaceMethod } from '@makerbook/parts';
import { quiet } from '../testing/open-test-log.js';
import { Broker } from './broker.js';
import { Cluster } from './cluster.js';
import { deadlineIn } from './deadline.js';

let restore: (() => void) | undefined;
afterEach(() => restore?.());

test('metadata that comes after the cluster is closed makes no brokers, which nobody would close', async () => {
  const cluster = new Cluster({ brokers: ['127.0.0.1:1'], clientId: 'test', logger: quiet });
  const answer = { topics: [], brokers: [{ nodeId: 7, host: '127.0.0.1', port: 1 }] };
  const ask = () => cluster.metadata([], deadlineIn(60_000));
  restore = replaceMethod(Broker.prototype, 'call', () => async () => answer as never);
  await ask();
  expect(cluster.broker(7).address.port).toBe(1);
  const asked = ask();
  cluster.close();
  await asked;
  expect(() => cluster.broker(7)).toThrow('broker 7 is not known');
});
