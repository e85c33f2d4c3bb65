import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { settingsTable, sharedSettings } from '@makerbook/settings/testing';
import { stackSettings } from './stack-env.js';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const shared = new Set(Object.values(sharedSettings).flatMap((group) => Object.values(group)));

test('the README has every setting of npm start that is not shared, with its default and meaning', () => {
  const own = Object.entries(stackSettings).filter(([, setting]) => !shared.has(setting));
  expect(readme).toContain(settingsTable(Object.fromEntries(own)));
});
