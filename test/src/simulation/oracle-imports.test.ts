import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

/**
 * What decodes, carries and stores is used by the simulation too; what judges is not: the rules of `shared/domain`, the
 * watcher's reading of the chain, and the services themselves, which it starts as processes.
 */
const allowed = [
  ...['client', 'contracts-events', 'contracts-evm', 'contracts-http'],
  ...['kafka', 'local-stack', 'postgres'],
];

test('the oracle knows nothing of what it judges', () => {
  const folder = fileURLToPath(new URL('../../src/simulation/', import.meta.url));
  const imports = readdirSync(folder)
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [...readFileSync(`${folder}/${file}`, 'utf8').matchAll(/ from .@makerbook\/([\w-]+)/g)])
    .map(([, name]) => name ?? '');
  expect([...new Set(imports)].sort()).toEqual([...allowed].sort());
});
