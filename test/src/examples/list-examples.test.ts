import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { findRoot } from '../conformance/find-root.js';

const root = findRoot();
const folder = join(root, 'examples');
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
  (file) => /\.(ts|py|java)$/.test(file) && !/node_modules|dist\/|^testing\//.test(file),
);

test('the README of the examples names each of them, and no other', () => {
  const readme = readFileSync(join(folder, 'README.md'), 'utf8');
  const named = [...readme.matchAll(/^\| \[[^\]]+\]\(([^)]+)\) \|/gm)].map((match) => match[1] ?? '');
  expect(named.toSorted()).toEqual(files.toSorted());
});

test.each(files)('%s has less than 100 lines of at most 120 characters', (file) => {
  const lines = readFileSync(join(folder, file), 'utf8').trimEnd().split('\n');
  expect(lines.length).toBeLessThan(100);
  expect(lines.filter(({ length }) => length > 120)).toEqual([]);
});
