import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { settingsTable } from '@makerbook/settings';
import { querySettings } from './env.js';

test('the README’s table holds every setting with its default and meaning', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  expect(readme).toContain(settingsTable(querySettings));
});
