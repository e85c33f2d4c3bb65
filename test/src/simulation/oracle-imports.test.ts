import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

/**
 * What decodes, carries and stores is used by the simulation too; what judges is not: the rules of `shared/domain`, the
 * watcher's reading of the chain, and the services themselves, which it starts as processes.
 */
const allowed = [
  ...['book', 'client', 'contracts-events', 'contracts-evm', 'contracts-http', 'contracts-primitives'],
  ...['kafka', 'local-stack', 'parts', 'postgres', 'settings', 'telemetry'],
];

test('the oracle knows nothing of what it judges', () => {
  const folders = ['simulation', 'kit'].map((name) => fileURLToPath(new URL(`../../src/${name}/`, import.meta.url)));
  const imports = folders
    .flatMap((folder) => readdirSync(folder).map((file) => `${folder}/${file}`))
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [...readFileSync(file, 'utf8').matchAll(/ from .@makerbook\/([\w-]+)/g)])
    .map(([, name]) => name ?? '');
  expect([...new Set(imports)].sort()).toEqual([...allowed].sort());
});
