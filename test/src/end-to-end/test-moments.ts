import { expect, test } from '@jest/globals';
import { lineOf } from '@makerbook/book';
import type { SignedOrder } from '@makerbook/client';
import { topicNames } from '@makerbook/contracts-events';
import { connectLog, type LogRecord, type StoredRecord } from '@makerbook/kafka';
import { silentLogger } from '@makerbook/telemetry';
import { outputOf } from '../examples/run-commands.js';
import { foldFeed } from '../feed/fold-feed.js';
import { eventually } from '../kit/eventually.js';
import { openMakers } from '../kit/open-maker.js';
import type { WholeStack } from './open-whole.js';

/** What was published, and what a maker is told of its order, as of a moment. */
export function testMoments(whole: () => WholeStack): void {
  test('what the feed said at any moment is folded from the log byte for byte, and the maker is told the same', async () => {
    const { stack, chain } = whole();
    const brokers = stack.addresses.kafkaBrokers.split(',');
    const log = connectLog({ brokers, clientId: 'test', logger: silentLogger });
    const [maker] = await openMakers(stack, chain, 1);
    if (maker === undefined) throw new Error('there is no maker');
    const [order] = (await maker.place({})) as [SignedOrder];
    const { orderHash } = order;
    await maker.lists([order], ['INACTIVE INSUFFICIENT_ALLOWANCE']);
    await maker.approve(1000n);
    await maker.mint(1000n);
    await maker.lists([order], ['ACTIVE']);
    await maker.fill(order, 60n);
    await eventually(async () => (await maker.client.findOrder(orderHash)).filledMakingAmount, '0x3c');
    await maker.client.cancelOrdersAndWait([{ orderHash, salt: order.order.salt }], 20);

    const { timeline } = await maker.client.findOrder(orderHash);
    const changes = timeline.flatMap((entry) => (entry.happened === 'FILLED' ? [] : [entry]));
    expect(changes.length).toBeGreaterThanOrEqual(5);
    const [partition = 0] = (changes[0]?.position.split(':') ?? []).map(Number);
    const offsetOf = ({ position }: { readonly position: string }) => Number(position.split(':')[1]);
    const published: StoredRecord[] = [];
    const { book: topic } = topicNames(stack.topicPrefix);
    for await (const { records } of log.readRange({ topic, partition })) published.push(...records);
    const bookAt = async (words: string) => {
      const env = { KAFKA_BROKERS: stack.addresses.kafkaBrokers, TOPIC_PREFIX: stack.topicPrefix };
      return (await outputOf(`npm run book -- --at ${words}`, env)).trimEnd().split('\n');
    };
    const rules = { topicPrefix: stack.topicPrefix, routingGraceSeconds: 60 };
    const factOf = ({ headers }: StoredRecord) => Number(headers['ce_id']?.split(':')[1]);
    /** The newest record of each key, of those about facts that count. */
    const newest = (counts: (record: StoredRecord) => boolean) =>
      new Map(published.filter(counts).map((record) => [record.key, record]));

    const linesOf = (records: readonly (LogRecord | undefined)[]) =>
      records.flatMap((record) => (record === undefined ? [] : [lineOf(record)]));
    for (const [index, entry] of changes.entries()) {
      const upTo = newest((record) => factOf(record) <= offsetOf(entry));
      const folded = await foldFeed({ partition, offset: BigInt(offsetOf(entry)) }, { log, ...rules });
      expect(linesOf(folded).sort()).toEqual(linesOf([...upTo.values()]).sort());
      if (index === 2) {
        expect(await bookAt(`${entry.position} --order ${orderHash}`)).toEqual(linesOf([upTo.get(orderHash)]));
        const open = linesOf([...upTo.values()].filter(({ value }) => value !== null));
        expect((await bookAt(entry.position)).sort()).toEqual(open.sort());
      }
      const then = await maker.client.findOrder(orderHash, { at: entry.position });
      expect(then.timeline.at(-1)).toEqual(entry);
      expect([then.status, then.remainingMakingAmount]).toEqual([entry.status, entry.remainingMakingAmount]);
    }

    const filled = changes.find(({ remainingMakingAmount }) => remainingMakingAmount === '0x28');
    if (filled?.cause.kind !== 'log') throw new Error('no log has filled it');
    const { number } = filled.cause.block;
    for (const [block, status, left] of [
      [number - 1, 'ACTIVE', '0x64'],
      [number, 'ACTIVE', '0x28'],
    ] as const) {
      const then = await maker.client.findOrder(orderHash, { at: block });
      expect([then.status, then.remainingMakingAmount]).toEqual([status, left]);
      const [line = ''] = await bookAt(`${block} --order ${orderHash}`);
      expect(linesOf(published)).toContain(line);
      expect(JSON.parse(line).value).toMatchObject({ status, remainingMakingAmount: left });
    }

    await log.close();
    const codeAt = (at: number | string) =>
      maker.client.findOrder(orderHash, { at }).then(
        () => 'none',
        ({ code }: { code: string }) => code,
      );
    expect(await codeAt(0)).toBe('not_found');
    expect(await codeAt(`${partition}:${offsetOf(changes[0] ?? { position: '' }) - 1}`)).toBe('not_found');
    for (const wrong of [number + 1_000_000, `${partition}:${10 ** 15}`, `${partition + 1}:0`])
      expect(await codeAt(wrong)).toBe('invalid_request');
  });
}
