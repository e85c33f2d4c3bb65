import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { describeSettings } from '@makerbook/settings/testing';
import { projectorSettings } from './env.js';

test('the README has every setting with its default and meaning, and no other', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  expect(readme).toContain(`\n${describeSettings(projectorSettings)}\n\n`);
});
