import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { takeLock } from './lock-file.js';
import { startTimeOf } from './read-processes.js';
import { openFolder } from './testing/open-folder.js';

const { inFolder } = openFolder('lock');

describe('a lock file', () => {
  test('belongs to one process at a time', () => {
    const file = inFolder('held.lock');
    const lock = takeLock(file);
    expect(takeLock(file)).toEqual({ heldBy: process.pid });
    if ('release' in lock) lock.release();
    expect(takeLock(file)).toHaveProperty('release');
  });

  test('is taken over from an owner that has ended, even if another process has its pid now', () => {
    const gone = inFolder('gone.lock');
    writeFileSync(gone, '999999999 1');
    expect(takeLock(gone)).toHaveProperty('release');
    const reused = inFolder('reused.lock');
    writeFileSync(reused, `${process.pid} 1`);
    expect(takeLock(reused)).toHaveProperty('release');
    expect(readFileSync(reused, 'utf8')).toBe(`${process.pid} ${startTimeOf(process.pid)}`);
  });
});
