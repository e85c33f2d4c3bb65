import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { takeLock } from './lock-file.js';
import { startTimeOf } from './read-processes.js';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-folder-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a lock file', () => {
  test('belongs to one process at a time', () => {
    const file = join(folder, 'held.lock');
    const lock = takeLock(file);
    expect(takeLock(file)).toEqual({ heldBy: process.pid });
    if ('release' in lock) lock.release();
    expect(takeLock(file)).toHaveProperty('release');
  });

  test('is taken over from an owner that has ended, also when another process has its pid now', () => {
    const gone = join(folder, 'gone.lock');
    writeFileSync(gone, '999999999 1');
    expect(takeLock(gone)).toHaveProperty('release');
    const reused = join(folder, 'reused.lock');
    writeFileSync(reused, `${process.pid} 1`);
    expect(takeLock(reused)).toHaveProperty('release');
    expect(readFileSync(reused, 'utf8')).toBe(`${process.pid} ${startTimeOf(process.pid)}`);
  });
});
