import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { settingsTable } from '@makerbook/settings';
import { ingressSettings } from './env.js';

test('the README has the table of the settings', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  expect(readme).toContain(settingsTable(ingressSettings));
});
