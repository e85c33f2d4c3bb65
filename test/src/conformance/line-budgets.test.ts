import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { findRoot } from './find-root.js';

/**
 * How many lines each package may have, tests and `testing/` aside: what it has, and some room for a small change. A budget
 * only shrinks. What needs more takes it from somewhere, or says in its commit what is worth the lines.
 */
const budgets: Readonly<Record<string, number>> = {
  'services/chain-watcher': 3610,
  'services/ingress': 1920,
  'services/operator': 890,
  'services/projector': 3125,
  'services/query': 770,
  'shared/book': 210,
  'shared/chain': 1210,
  'shared/client': 480,
  'shared/docs': 1170,
  'shared/domain': 955,
  'shared/http': 1380,
  'shared/kafka': 3575,
  'shared/postgres': 1960,
  'shared/redis': 1530,
  'shared/settings': 595,
  'shared/signatures': 245,
  'shared/telemetry': 440,
  'shared/whitelist': 80,
};

const root = findRoot();
const packages = ['services', 'shared'].flatMap((layer) =>
  readdirSync(join(root, layer))
    .map((name) => `${layer}/${name}`)
    .filter((path) => existsSync(join(root, path, 'package.json'))),
);

function linesOf(path: string): number {
  const files = readdirSync(join(root, path, 'src'), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !file.includes('/testing/'));
  return files.reduce((lines, file) => lines + readFileSync(file, 'utf8').split('\n').length - 1, 0);
}

test('every package has a line budget', () => {
  expect(Object.keys(budgets).filter((path) => !packages.includes(path))).toEqual([]);
  expect(packages.filter((path) => budgets[path] === undefined)).toEqual([]);
});

test.each(packages)('%s keeps within its line budget, and the budget close to what it has', (path) => {
  const lines = linesOf(path);
  const budget = budgets[path] ?? 0;
  expect(lines).toBeLessThanOrEqual(budget);
  expect(budget).toBeLessThan(lines * 1.1 + 50);
});
