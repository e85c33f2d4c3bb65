import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readSettings } from '@makerbook/settings';
import { describeSettings } from '@makerbook/settings/testing';
import { projectorSettings } from './env.js';

test('the README has every setting with its default and meaning, and no other', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  expect(readme).toContain(`\n${describeSettings(projectorSettings)}\n\n`);
});

test('what is missing is named, and the password in a URL is not printed', () => {
  const environment = { DATABASE_URL: 'postgres://user:hunter2@host/db', BATCH_FACTS_MAX: '0' };
  const read = () => readSettings(projectorSettings, environment);
  expect(read).toThrow(/KAFKA_BROKERS is missing/);
  expect(read).toThrow(/BATCH_FACTS_MAX=0: must be at least 1/);
  expect(read).not.toThrow(/hunter2/);
});
