import { expect, test } from '@jest/globals';
import { lineOf } from '@makerbook/book';
import type { SignedOrder } from '@makerbook/client';
import { topicNames } from '@makerbook/contracts-events';
import { connectLog, type StoredRecord } from '@makerbook/kafka';
import { silentLogger } from '@makerbook/telemetry';
import { outputOf } from '../examples/run-commands.js';
import { eventually } from '../kit/eventually.js';
import { openMakers, type TestMaker } from '../kit/open-maker.js';
import type { WholeStack } from './open-whole.js';

/** Tests what was published, and what a maker is told of its order, as of a moment. */
export function testMoments(whole: () => WholeStack): void {
  test('what the feed said of an order at a position and at a block is told as it was published, to its maker too', async () => {
    const { stack, chain } = whole();
    const [maker] = (await openMakers(stack, chain, 1)) as [TestMaker];
    const [order] = (await maker.place({})) as [SignedOrder];
    const { orderHash } = order;
    await maker.approve(1000n);
    await maker.mint(1000n);
    await maker.lists([order], ['ACTIVE']);
    await maker.fill(order, 60n);
    await eventually(async () => (await maker.client.findOrder(orderHash)).filledMakingAmount, '0x3c');
    await maker.client.cancelOrdersAndWait([{ orderHash, salt: order.order.salt }], 20);

    const { timeline } = await maker.client.findOrder(orderHash);
    const filled = timeline.flatMap((entry) => (entry.happened === 'CHANGED' ? [entry] : [])).at(-1);
    if (filled?.cause.kind !== 'log') throw new Error('no log has filled it');
    const { number } = filled.cause.block;
    const published: StoredRecord[] = [];
    const log = connectLog({
      brokers: stack.addresses.kafkaBrokers.split(','),
      clientId: 'test',
      logger: silentLogger,
    });
    const [partition = 0] = filled.position.split(':').map(Number);
    for await (const { records } of log.readRange({ topic: topicNames(stack.topicPrefix).book, partition }))
      published.push(...records);
    await log.close();
    const env = { KAFKA_BROKERS: stack.addresses.kafkaBrokers, TOPIC_PREFIX: stack.topicPrefix };
    for (const [at, left] of [
      [filled.position, '0x28'],
      [number, '0x28'],
      [number - 1, '0x64'],
    ] as const) {
      const line = (await outputOf(`npm run book -- --at ${at} --order ${orderHash}`, env)).trimEnd();
      expect(published.map((record) => (record.key === orderHash ? lineOf(record) : ''))).toContain(line);
      expect(JSON.parse(line).value).toMatchObject({ status: 'ACTIVE', remainingMakingAmount: left });
      const then = await maker.client.findOrder(orderHash, { at });
      expect([then.status, then.remainingMakingAmount]).toEqual(['ACTIVE', left]);
    }
  });
}
