import { expect, test } from '@jest/globals';
import { createRoles, testParts } from '@makerbook/parts';
import { readMigrations } from '@makerbook/postgres';
import { migrateDatabase } from './migrate-database.js';

test('migrate applies each step once, and names the steps and the roles with rights', async () => {
  const url = await testParts().databaseUrl();
  await createRoles(url, ['makerbook_query']);
  const names = readMigrations().map(({ name }) => `${name}: applied`);
  const roles = expect.stringMatching(/^roles with rights of their own: .*makerbook_query/);
  expect(await migrateDatabase({ url })).toEqual({ lines: [...names, roles], exitCode: 0 });
  expect(await migrateDatabase({ url })).toEqual({ lines: ['nothing to do', roles], exitCode: 0 });
});
