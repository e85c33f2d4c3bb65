import { expect, test } from '@jest/globals';
import { testParts } from '@makerbook/parts';
import { readMigrations } from '@makerbook/postgres';
import { migrateDatabase } from './migrate-database.js';

test('migrate applies every step once, and says which', async () => {
  const url = await testParts().databaseUrl();
  const names = readMigrations().map(({ name }) => `${name}: applied`);
  expect(await migrateDatabase({ url })).toEqual({ lines: names, exitCode: 0 });
  expect(await migrateDatabase({ url })).toEqual({ lines: ['nothing to do'], exitCode: 0 });
});
