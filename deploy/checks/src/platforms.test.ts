import { expect, test } from '@jest/globals';
import type { Lock } from './list-packages.js';
import { readText } from './read-manifests.js';

const { packages } = JSON.parse(readText('package-lock.json')) as Lock;
const names = new Set(Object.keys(packages).map((path) => path.split('node_modules/').at(-1)));

// npm silently leaves out of a lock file what the registry does not have.
test('the lock file has the binaries of each package for Linux and macOS on both processors', () => {
  const optional = Object.values(packages).flatMap(({ optionalDependencies = {} }) =>
    Object.keys(optionalDependencies),
  );
  const binaries = optional.filter((name) => /(linux|darwin)-(x64|amd64|arm64|64)\b/.test(name));
  expect(binaries.length).toBeGreaterThan(40);
  expect(binaries.filter((name) => !names.has(name))).toEqual([]);
});
