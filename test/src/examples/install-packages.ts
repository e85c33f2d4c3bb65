import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findRoot } from '../conformance/find-root.js';

const root = findRoot();
const options = {
  compilerOptions: {
    strict: true,
    skipLibCheck: true,
    module: 'nodenext',
    target: 'es2024',
    lib: ['es2024', 'dom'],
    typeRoots: [join(root, 'node_modules/@types')],
    types: ['node'],
  },
};

/**
 * Makes an empty project, has npm install the packages into it as they are published, and compiles examples against
 * them. Their dependencies come from this repository, so that no registry is asked.
 */
export function installPackages(folder: string, examples: readonly string[]): void {
  const run = (command: string, ...words: string[]) =>
    execFileSync(command, words, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const packed = run(process.execPath, join(root, 'deploy/packages/dist/main.js'), 'built')
    .split('\n')
    .filter((file) => file.endsWith('.tgz'));
  for (const name of ['ethers', 'hash-wasm', 'sorted-btree', 'zod']) copyPackage(name, folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  run('npm', 'install', '--offline', '--no-audit', '--no-fund', ...packed);
  copyPackage('kafkajs', folder);
  for (const name of examples) cpSync(join(root, 'examples/typescript/src', `${name}.ts`), join(folder, `${name}.ts`));
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(options));
  run(join(root, 'node_modules/.bin/tsc'));
}

/** Copies a package with all of its dependencies. */
function copyPackage(name: string, folder: string): void {
  const [from, to] = [root, folder].map((place) => join(place, 'node_modules', name)) as [string, string];
  if (existsSync(to)) return;
  mkdirSync(to, { recursive: true });
  cpSync(from, to, { recursive: true });
  const { dependencies = {} } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'));
  for (const needed of Object.keys(dependencies)) {
    if (!existsSync(join(from, 'node_modules', needed))) copyPackage(needed, folder);
  }
}
