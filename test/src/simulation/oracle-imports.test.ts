import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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
  const folder = fileURLToPath(new URL('../../src/simulation/', import.meta.url));
  const files = new Set(readdirSync(folder).map((file) => join(folder, file)));
  const packages = new Set<string>();
  // Grows while it is walked: what the simulation imports or preloads of the kit, and what that imports.
  for (const file of files) {
    if (!file.endsWith('.ts') || !existsSync(file)) continue;
    const text = readFileSync(file, 'utf8');
    for (const [, name] of text.matchAll(/ from .@makerbook\/([\w-]+)/g)) packages.add(name ?? '');
    for (const [, path] of text.matchAll(/'(\.[^']+)\.js'/g)) files.add(join(dirname(file), `${path}.ts`));
  }
  expect([...packages].sort()).toEqual([...allowed].sort());
});
