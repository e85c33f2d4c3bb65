import { describe, expect, test } from '@jest/globals';
import { decodeResumeRecord, type MakerEvent } from '@makerbook/contracts-events';
import { createPositionMark, duePosition, noteBlocks } from './mark-position.js';
import { readFact } from './read-facts.js';
import { startSeconds, storedRecord } from './testing/generate-facts.js';

const at = { partition: 3, nowMs: 1_000, intervalMs: 100, topic: 'resume' };
const blockAt = (number: number, offset: bigint) => {
  const fact: MakerEvent = {
    type: 'BlockProcessed',
    block: { number, hash: `0x${'0'.repeat(64)}`, timestamp: startSeconds + number },
  };
  return readFact(storedRecord(fact, { partition: 3, offset }), 4);
};
const positionOf = (record: ReturnType<typeof duePosition>) => record && decodeResumeRecord(record);

describe('the mark of a position', () => {
  test('names the block before the newest, once two blocks were folded', () => {
    const mark = createPositionMark(6);
    noteBlocks(mark, [blockAt(7, 10n)]);
    expect(duePosition(mark, at)).toBeUndefined();
    noteBlocks(mark, [blockAt(8, 12n), blockAt(9, 15n)]);
    expect(positionOf(duePosition(mark, at))).toEqual({
      type: 'BookPosition',
      position: { partition: 3, offset: '12' },
    });
  });

  test('is not moved by a late repeat of an older block', () => {
    const mark = createPositionMark(undefined);
    noteBlocks(mark, [blockAt(7, 10n), blockAt(8, 11n), blockAt(7, 12n), blockAt(8, 13n)]);
    expect(positionOf(duePosition(mark, at))).toMatchObject({ position: { offset: '10' } });
  });

  test('is not said again, nor before its time', () => {
    const mark = createPositionMark(undefined);
    noteBlocks(mark, [blockAt(7, 10n), blockAt(8, 11n)]);
    mark.marked = mark.blockBefore;
    expect(duePosition(mark, at)).toBeUndefined();
    noteBlocks(mark, [blockAt(9, 12n)]);
    mark.markedAtMs = 950;
    expect(duePosition(mark, at)).toBeUndefined();
    expect(duePosition(mark, { ...at, nowMs: 1_050 })).toBeDefined();
  });
});
