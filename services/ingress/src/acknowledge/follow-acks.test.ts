import { expect, test } from '@jest/globals';
import { encodeAcknowledged } from '@makerbook/contracts-events';
import { LogInMemory } from '@makerbook/kafka/testing';
import { silentLogger } from '@makerbook/telemetry';
import { followAcks } from './follow-acks.js';

const topic = 'acks';
const fact = { partition: 1, offset: 7n };

/** Two routers, two partitions, and a clock that a pause moves. Each pause also runs the next of `plans`. */
function open() {
  const clock = { nowMs: 0 };
  const log = new LogInMemory({ partitions: 2 });
  const plans: (() => void)[] = [];
  const acknowledge = (router: string, partition: number, offset: number) => {
    const context = { id: 'ack', source: '/makerbook/router', timeMs: 0 };
    const position = { partition, offset: String(offset) };
    const message = encodeAcknowledged({ type: 'BookAcknowledged', router, position }, context);
    log.store([{ ...message, key: message.key ?? '', topic, partition: 0 }]);
  };
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const follow = () =>
    followAcks(log.connect(), {
      topic,
      partitions: 2,
      routers: ['swift', 'slow'],
      logger: silentLogger,
      onFatal: (error) => {
        throw error;
      },
      monotonicMs: () => clock.nowMs,
      pause: async (ms) => {
        clock.nowMs += ms;
        plans.shift()?.();
        await settled();
      },
    });
  return { clock, log, plans, acknowledge, settled, follow };
}

test('a fact is seen once every registered router has acknowledged a later position of its partition', async () => {
  const { clock, plans, acknowledge, settled, follow } = open();
  acknowledge('slow', 1, 9);
  const acks = follow();
  await settled();
  // Earlier acknowledgements do not count, and neither do other partitions, other routers and the position itself.
  acknowledge('swift', 0, 9);
  acknowledge('stranger', 1, 9);
  acknowledge('swift', 1, 7);
  await settled();
  expect(await acks.awaitSeen([fact], 0)).toEqual(['swift', 'slow']);

  acknowledge('swift', 1, 8);
  await settled();
  expect(await acks.awaitSeen([fact], 1_000)).toEqual(['slow']);
  expect(clock.nowMs).toBe(1_000);

  plans.push(
    () => undefined,
    () => acknowledge('slow', 1, 8),
  );
  expect(await acks.awaitSeen([fact], 1_000)).toEqual([]);
  expect(clock.nowMs).toBeLessThan(1_100);
  expect(await acks.awaitSeen([fact, { partition: 0, offset: 3n }], 0)).toEqual(['slow']);
});

test('the age of a router is that of the partition that it has left unacknowledged for longest', async () => {
  const { clock, log, acknowledge, settled, follow } = open();
  const acks = follow();
  await settled();
  clock.nowMs = 5_000;
  for (const partition of [0, 1]) acknowledge('swift', partition, 1);
  acknowledge('slow', 0, 1);
  // A message that cannot be read concerns no router.
  log.store([{ topic, partition: 1, key: '', value: Buffer.from('{'), headers: {} }]);
  await settled();
  clock.nowMs = 6_000;
  expect([...acks.ageSeconds()]).toEqual([
    ['swift', 1],
    ['slow', 6],
  ]);
});
