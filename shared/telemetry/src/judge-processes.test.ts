import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

test('each alert that judge-processes names has a section in the runbook', () => {
  const source = readFileSync(new URL('./judge-processes.js', import.meta.url), 'utf8');
  const runbook = readFileSync(new URL('../../../deploy/runbooks/alerts.md', import.meta.url), 'utf8');
  const sections = [...runbook.matchAll(/^## (\w+)$/gm)].map(([, section]) => section);
  const named = [...source.matchAll(/'((?:[A-Z][a-z]+){2,})'/g)].map(([, name = '']) => name);
  expect(named.length).toBeGreaterThan(12);
  expect(named.filter((name) => !sections.includes(name))).toEqual([]);
});
