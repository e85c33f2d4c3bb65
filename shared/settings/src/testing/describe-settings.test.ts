import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { settingsTable, sharedSettings } from './describe-settings.js';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

test('the README has a section with a table for each shared group, and no other table', () => {
  const [, ...sections] = readme.split('\n## ');
  const tableOf = (section: string) => /\| variable .+\n(?:\|.*\n?)+/.exec(section)?.[0].trimEnd();
  expect(sections.map((section) => [section.split('\n', 1)[0], tableOf(section)])).toEqual(
    Object.entries(sharedSettings).map(([heading, group]) => [heading, settingsTable(group)]),
  );
  expect(readme.match(/\| variable /g)).toHaveLength(sections.length);
});
