import { expect, test } from '@jest/globals';
import { silentLogger } from '@makerbook/telemetry';
import { countUnknownNotes } from './note-unknown.js';

test('notes of unknown hashes are bounded for each client and in total, until the window ends', () => {
  let nowMs = 1_000;
  const older: number[] = [];
  const notes = countUnknownNotes({
    settings: { UNKNOWN_HASHES_PER_CLIENT_MAX: 3, UNKNOWN_HASHES_MAX: 5 },
    store: { forgetNotes: async (olderThanMs) => void older.push(olderThanMs) },
    logger: silentLogger,
    monotonicMs: () => nowMs,
  });
  expect(notes.mayNote('a', 3)).toBe(true);
  notes.note('a', 2);
  expect([notes.mayNote('a', 1), notes.mayNote('a', 2), notes.mayNote('b', 3)]).toEqual([true, false, true]);
  notes.note('b', 3);
  expect([notes.mayNote('c', 1), notes.mayNote('a', 0)]).toEqual([false, true]);
  nowMs += 30_000;
  expect(notes.mayNote('a', 3)).toBe(true);
  expect(older).toEqual([30_000]);
  nowMs += 60_000;
  expect(notes.mayNote('a', 3)).toBe(true);
  expect(older).toEqual([30_000]);
});
