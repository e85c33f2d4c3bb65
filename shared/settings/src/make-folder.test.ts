import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { makeFolder } from './make-folder.js';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-make-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a folder is made with its parents, and may already exist', () => {
  for (let n = 0; n < 2; n += 1) makeFolder(join(folder, 'a/b/c'));
  expect(statSync(join(folder, 'a/b/c')).isDirectory()).toBe(true);
});

test('a file in place of the folder is refused', () => {
  writeFileSync(join(folder, 'file'), '');
  expect(() => makeFolder(join(folder, 'file'))).toThrow('EEXIST');
  expect(() => makeFolder(join(folder, 'file/below'))).toThrow(/EEXIST|ENOTDIR/);
});

(existsSync('/proc/self') ? test : test.skip)(
  'a place that takes no folder is refused, and is not tried for ever',
  () => {
    expect(() => makeFolder('/proc/x/y')).toThrow('ENOENT');
  },
);
