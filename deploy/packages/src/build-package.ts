import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OutputOptions, type RolldownOptions, rolldown } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';

export const publishedPackages = ['book', 'client'] as const;

/** A workspace that is published. */
export type PublishedPackage = (typeof publishedPackages)[number];

const ROOT = join(import.meta.dirname, '..', '..', '..');
/** True for a third-party package, which stays a dependency. Other workspaces go into the package. */
const isOthers = (id: string) => !/^(\.|\/|@makerbook\/)/.test(id);
const read = (...path: readonly string[]) => JSON.parse(readFileSync(join(ROOT, ...path, 'package.json'), 'utf8'));

/**
 * Makes a folder for `npm pack` and `npm publish` from a built workspace. It holds `index.js` with its types,
 * `browser.js` with all its dependencies, and the workspace's command, if it has one.
 */
export async function buildPackage(workspace: PublishedPackage, folder: string): Promise<void> {
  const built = join(ROOT, 'shared', workspace, 'dist');
  const input = join(built, 'index.js');
  const types = { index: join(built, 'index.d.ts') };
  const plugins = [dts({ dtsInput: true, emitDtsOnly: true, generator: 'oxc', tsconfig: false })];
  mkdirSync(folder, { recursive: true });
  const imports = [
    await bundle({ input, external: isOthers }, { file: join(folder, 'index.js') }),
    await bundle({ input: types, external: isOthers, plugins }, { dir: folder, entryFileNames: '[name].ts' }),
    await bundle({ input, platform: 'browser' }, { file: join(folder, 'browser.js'), minify: true }),
  ].flat();
  const command = join(built, 'main.js');
  const hasCommand = existsSync(command);
  if (hasCommand)
    await bundle({ input: command, platform: 'node', external: isOthers }, { file: join(folder, 'cli.js') });
  const { name, version, description, license } = read('shared', workspace);
  const exports = {
    '.': { types: './index.d.ts', default: './index.js' },
    './browser': { types: './index.d.ts', default: './browser.js' },
  };
  const versions = imports.map((needed) => [needed, `^${read('node_modules', needed).version}`]);
  const dependencies = Object.fromEntries(versions);
  const bin = hasCommand ? { makerbook: './cli.js' } : undefined;
  const manifest = { name, version, description, license, type: 'module', exports, bin, dependencies };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  cpSync(join(ROOT, 'shared', workspace, 'README.md'), join(folder, 'README.md'));
}

/** @returns the packages that the bundle imports */
async function bundle(options: RolldownOptions, output: OutputOptions): Promise<readonly string[]> {
  const build = await rolldown(options);
  const { output: chunks } = await build.write({ format: 'esm', ...output });
  await build.close();
  const code = chunks.map((chunk) => (chunk.type === 'chunk' ? chunk.code : '')).join('\n');
  return [...code.matchAll(/^import\b[^;]* from "([^"]+)";$/gm)].map(([, name = '']) => name);
}
