import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { findRoot } from './find-root.js';

const root = findRoot();

interface Source {
  /** Path from the root, with forward slashes. */
  readonly path: string;
  /** The workspace that it is in: `shared/kafka`. */
  readonly workspace: string;
  readonly isTest: boolean;
  readonly text: string;
  readonly imports: readonly string[];
}

const workspaces = ['contracts', 'shared', 'services']
  .flatMap((layer) => readdirSync(join(root, layer)).map((name) => `${layer}/${name}`))
  .filter((path) => existsSync(join(root, path, 'package.json')))
  .concat('deploy/local', 'deploy/parts', 'examples/typescript', 'test');

const nameOf = new Map<string, string>(
  workspaces.map((path) => [JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8')).name as string, path]),
);

const sources: Source[] = workspaces.flatMap((workspace) =>
  listSources(join(root, workspace, 'src')).map((file) => {
    const text = readFileSync(file, 'utf8');
    const path = relative(root, file).split(sep).join('/');
    const isTest = /\.test\.ts$|\/testing\/|(^|\/)test\//.test(path) || /^(examples|test)\b/.test(workspace);
    const imports = [...text.matchAll(/\b(?:from\s|import\s|import\()\s*['"]([^'"]+)['"]/g)].map(
      (match) => match[1] ?? '',
    );
    return { path, workspace, isTest, text, imports };
  }),
);

function listSources(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name));
}

/** `@makerbook/kafka` → `shared/kafka`; undefined for packages that are not ours. */
function workspaceOf(specifier: string): string | undefined {
  return nameOf.get(specifier.split('/').slice(0, 2).join('/'));
}

const production = sources.filter(({ isTest }) => !isTest);
const layerOf = (workspace: string) => workspace.split('/')[0] ?? '';

describe('the direction of imports', () => {
  test('the sources are found', () => {
    expect(production.length).toBeGreaterThan(100);
    expect(new Set(production.map(({ workspace }) => layerOf(workspace)))).toEqual(
      new Set(['contracts', 'shared', 'services', 'deploy']),
    );
  });

  test.each([
    ['contracts', ['contracts']],
    ['shared', ['shared', 'contracts']],
    // No service imports another one.
    ['services', ['shared', 'contracts']],
    // The client for makers knows nothing of the server.
    ['shared/client', ['contracts']],
  ])('%s imports only %j of our code', (from, allowed) => {
    const wrong = production.flatMap(({ path, workspace, imports }) =>
      imports.flatMap((specifier) => {
        const target = workspaceOf(specifier);
        const isFrom = workspace === from || layerOf(workspace) === from;
        const isWrong = isFrom && target !== undefined && target !== workspace && !allowed.includes(layerOf(target));
        return isWrong ? [`${path} → ${target}`] : [];
      }),
    );
    expect(wrong).toEqual([]);
  });

  test('code in an image imports no testing folder, because the image has none', () => {
    // A generator of committed files runs only in the repository.
    const shipped = production.filter(({ path }) => !/^deploy|\/generate[^/]*\.ts$/.test(path));
    const importing = shipped.flatMap(({ path, imports }) =>
      imports.filter((specifier) => /\/testing(\/|$)/.test(specifier)).map((specifier) => `${path} → ${specifier}`),
    );
    expect(importing).toEqual([]);
  });

  test('the domain imports only contracts: no package, no Node module, no clock, no randomness', () => {
    const domain = production.filter(({ workspace }) => workspace === 'shared/domain');
    expect(domain.length).toBeGreaterThan(4);
    for (const { path, imports, text } of domain) {
      const foreign = imports.filter(
        (specifier) => !specifier.startsWith('./') && !specifier.startsWith('@makerbook/contracts-'),
      );
      expect({ path, foreign }).toEqual({ path, foreign: [] });
      expect({ path, impure: text.match(/Date\.now|new Date\(|Math\.random|process\.|globalThis|await /g) }).toEqual({
        path,
        impure: null,
      });
    }
  });

  test.each([
    ['@platformatic/kafka', ['shared/kafka']],
    ['pg', ['shared/postgres', 'deploy/parts']],
    ['ioredis', ['services/query']],
    ['express', ['shared/http', 'deploy/local']],
    ['secp256k1/bindings.js', ['shared/signatures']],
    ['koffi', ['shared/signatures']],
    ['ethers', ['shared/client', 'services/query', 'services/operator', 'deploy/local']],
  ])('%s is imported only in %j', (module, allowed) => {
    const users = production.filter(({ imports }) => imports.includes(module)).map(({ workspace }) => workspace);
    expect([...new Set(users)].filter((workspace) => !allowed.includes(workspace))).toEqual([]);
  });

  test('each SQL statement is in the store of a service or in shared/postgres', () => {
    const statement =
      /['`]\s*(with \w+ as|select |insert into|update \w+ set|delete from|lock table|alter table|drop schema)/;
    const places = production.filter(({ text }) => statement.test(text)).map(({ path }) => path);
    const isElsewhere = (path: string) => !/^services\/[^/]+\/src\/store\/|^shared\/postgres\/|^deploy\//.test(path);
    expect(places.filter(isElsewhere)).toEqual([]);
  });

  test('the Kafka library is imported only by its public entry', () => {
    const specifiers = sources.flatMap(({ imports }) => imports).filter((name) => name.startsWith('@platformatic/'));
    expect(new Set(specifiers)).toEqual(new Set(['@platformatic/kafka']));
    const kafka = sources.filter(({ workspace }) => workspace === 'shared/kafka');
    expect(kafka.filter(({ text }) => text.includes('createRequire')).map(({ path }) => path)).toEqual([]);
  });

  test('every program that is started by its file name exists', () => {
    const named = sources.flatMap(({ path, text }) =>
      [...text.matchAll(/new URL\('((?!\S*dist\/)[^']+)\.js', import\.meta\.url\)/g)].map(([, name = '']) => {
        return join(path, '..', `${name}.ts`);
      }),
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test('the environment is read only in env.ts and main.ts', () => {
    const readers = production.filter(
      ({ text, workspace }) => text.includes('process.env') && /^(services|shared|contracts)/.test(workspace),
    );
    expect(readers.map(({ path }) => path).filter((path) => !/\/(env|main)\.ts$/.test(path))).toEqual([]);
  });

  test('every package that is imported is declared by the workspace that imports it', () => {
    const undeclared = sources.flatMap(({ path, workspace, imports, isTest }) => {
      const manifest = JSON.parse(readFileSync(join(root, workspace, 'package.json'), 'utf8'));
      const declared = new Set([
        manifest.name,
        ...Object.keys(manifest.dependencies ?? {}),
        ...(isTest ? Object.keys(manifest.devDependencies ?? {}) : []),
      ]);
      return imports
        .filter((specifier) => !specifier.startsWith('.') && !specifier.startsWith('node:'))
        .map((specifier) =>
          specifier
            .split('/')
            .slice(0, specifier.startsWith('@') ? 2 : 1)
            .join('/'),
        )
        .filter((name) => !declared.has(name))
        .map((name) => `${path} → ${name}`);
    });
    expect(undeclared).toEqual([]);
  });

  test('each invariant of ARCHITECTURE names its file and a test, and both exist', () => {
    const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
    const invariants =
      text
        .split('## Invariants')[1]
        ?.split('\n## ')[0]
        ?.match(/^\d+\. .*$/gm) ?? [];
    expect(invariants.length).toBeGreaterThan(10);
    for (const invariant of invariants) {
      const [, code = '', its = ''] = invariant.match(/\(\[code\]\((\S+)\), \[test\]\((\S+\.test\.ts)\)\)$/) ?? [];
      const isThere = [code, its].map((path) => path !== '' && existsSync(join(root, path)));
      expect({ invariant, isThere }).toEqual({ invariant, isThere: [true, true] });
    }
  });
});
