import { describe, expect, test } from '@jest/globals';
import { lineOf } from '@makerbook/book';
import { bookClockKey } from '@makerbook/contracts-events';
import type { LogRecord } from '@makerbook/kafka';
import type { LogInMemory } from '@makerbook/kafka/testing';
import { createChance } from '@makerbook/parts';
import { GRACE_SECONDS } from '../simulation/chain/act-on-chain.js';
import { planRun } from '../simulation/plan-run.js';
import { TOPICS } from '../simulation/run-processes.js';
import { runUnjudged } from '../simulation/simulate-service.js';
import { foldFeed, type Moment } from './fold-feed.js';

/** The newest message of each key among those published up to the last one. */
function newestUpTo(published: readonly LogRecord[], last: LogRecord | undefined): string[] {
  const newest = new Map<string, LogRecord>();
  for (const record of last === undefined ? [] : published.slice(0, published.indexOf(last) + 1)) {
    newest.delete(record.key);
    newest.set(record.key, record);
  }
  return [...newest.values()].map(lineOf);
}

const offsetOf = ({ headers }: LogRecord) => Number(headers['ce_id']?.split(':')[1]);
const blockOf = ({ key, partition, value }: LogRecord) =>
  key === bookClockKey(partition) ? Number(JSON.parse(String(value)).block.number) : undefined;

async function tell(log: LogInMemory, at: Moment): Promise<string[]> {
  const feed = await foldFeed(at, { log: log.connect(), topicPrefix: '', routingGraceSeconds: GRACE_SECONDS });
  return feed.map(lineOf);
}

describe('the log, folded again', () => {
  test.each([1, 2, 5, 8, 13, 21])(
    'gives for each position and block what was published by then, byte for byte (seed %i)',
    async (seed) => {
      const plan = planRun(seed);
      const log = await runUnjudged(plan);
      const published = log.published.filter(({ topic }) => topic === TOPICS.book);
      const chance = createChance(seed);
      const of = (own: number) => published.filter(({ partition }) => partition === own);
      for (let partition = 0; partition < plan.partitions; partition += 1) {
        const end = Number(log.end(TOPICS.makerEvents, partition));
        for (const offset of [0, end - 1, ...Array.from({ length: 8 }, () => chance.below(end))]) {
          const last = of(partition).findLast((record) => offsetOf(record) <= offset);
          expect(await tell(log, { partition, offset: BigInt(offset) })).toEqual(newestUpTo(of(partition), last));
        }
      }
      const blocks = published.flatMap((record) => blockOf(record) ?? []);
      for (const block of [Math.max(...blocks), ...Array.from({ length: 4 }, () => chance.pick(blocks as [number]))]) {
        const expected = Array.from({ length: plan.partitions }, (_, partition) => {
          const last = of(partition).findLast((record) => (blockOf(record) ?? Number.POSITIVE_INFINITY) <= block);
          return newestUpTo(of(partition), last);
        });
        expect(await tell(log, { block })).toEqual(expected.flat());
      }
    },
  );

  test('refuses a moment that has not come yet', async () => {
    const log = await runUnjudged({ ...planRun(1), partitions: 1 });
    const end = log.end(TOPICS.makerEvents, 0);
    await expect(tell(log, { partition: 0, offset: end })).rejects.toThrow(`the log has no position 0:${end}`);
    await expect(tell(log, { partition: 7, offset: 0n })).rejects.toThrow('the log has no position 7:0');
    await expect(tell(log, { block: 1_000_000 })).rejects.toThrow('has not reached block 1000000: it is at');
  });
});
