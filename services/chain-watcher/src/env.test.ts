import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { settingsTable } from '@makerbook/settings';
import { watcherSettings } from './env.js';

describe('the README', () => {
  test('holds every setting with its default and meaning, and no other', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    const table = /\| variable \| default \| meaning \|\n[\s\S]*?\n(?=\n|$)/.exec(readme)?.[0].trimEnd();
    expect(table).toBe(settingsTable(watcherSettings));
  });
});
