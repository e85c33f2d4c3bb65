import { describe, expect, test } from '@jest/globals';
import { encodeMakerEvent, type MakerEvent } from '@makerbook/contracts-events';
import { LogInMemory } from '@makerbook/kafka/testing';
import fc from 'fast-check';
import { findMoment, momentOf } from './find-moment.js';

const place = { topic: 'log', partition: 0 };

/** A log with these blocks. A null stands for a fact that is no block. */
function logOf(blocks: readonly (number | null)[]) {
  const log = new LogInMemory({ partitions: 1 });
  for (const number of blocks) {
    const fact: MakerEvent =
      number === null
        ? { type: 'WatcherResigned' }
        : { type: 'BlockProcessed', block: { number, hash: `0x${'00'.repeat(32)}`, timestamp: number } };
    const { value, headers } = encodeMakerEvent(fact, { id: 'fact', source: '/test', timeMs: 0 });
    log.store([{ ...place, key: '', value, headers }]);
  }
  return log.connect();
}
/** @param end the offset that the rows have reached; default: the end of the log */
const find = (blocks: readonly (number | null)[], at: string, end = blocks.length) =>
  findMoment(logOf(blocks), place, momentOf(at), BigInt(end));

describe('the offset of a moment', () => {
  test('that is a block comes after its record or the newest earlier one, however far apart blocks are', async () => {
    expect(await find([], '0')).toMatchObject({ code: 'unavailable' });
    const gaps = fc.array(fc.record({ facts: fc.nat(30), skipped: fc.nat(2) }), { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(gaps, fc.nat(200), async (drawn, block) => {
        let number = 0;
        const blocks = drawn.flatMap(({ facts, skipped }) => {
          number += 1 + skipped;
          return [...Array<null>(facts).fill(null), number];
        });
        const behind = blocks.findLastIndex((each) => each !== null && each <= block) + 1;
        const expected = block <= number ? BigInt(behind) : { code: 'unavailable' };
        const found = await find(blocks, String(block));
        expect(typeof found === 'object' ? { code: found.code } : found).toEqual(expected);
      }),
    );
  });

  test('that is a position comes after its fact, only in the maker’s partition', async () => {
    expect(await find([null, null], '0:1')).toBe(2n);
    expect(await find([null, null], '1:0')).toMatchObject({ code: 'invalid_request' });
  });

  test('is unavailable until the rows have reached it, whatever the log has', async () => {
    expect(await find([null, null], '0:2')).toMatchObject({ code: 'unavailable' });
    expect(await find([null, null], '0:1', 1)).toMatchObject({ code: 'unavailable' });
    expect(await find([3, 4], '4', 1)).toMatchObject({ code: 'unavailable' });
    expect(await find([3, 4], '3', 1)).toBe(1n);
  });
});
