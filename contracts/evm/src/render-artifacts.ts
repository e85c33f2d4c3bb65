import type { CompiledContract } from './compile-sources.js';

const NOTE = '// Generated from sol/ by `npm run generate`. Do not edit.\n';

/** The committed files of the compiled contracts: file name under `src/artifacts` → text. */
export function renderArtifacts(contracts: readonly CompiledContract[]): Map<string, string> {
  const files = new Map(
    contracts.map(({ name, abi, bytecode }) => [
      `${name}.ts`,
      `${NOTE}export const ${name} = {\n  abi: ${JSON.stringify(abi, null, 2).replaceAll('\n', '\n  ')},\n  bytecode: '${bytecode}',\n} as const;\n`,
    ]),
  );
  const names = contracts.map(({ name }) => name).toSorted();
  files.set(
    'index.ts',
    `${NOTE}${names.map((name) => `import { ${name} } from './${name}.js';\n`).join('')}\n` +
      `/** What the deployer needs of each contract: its JSON ABI and its creation bytecode. */\n` +
      `export const deployArtifacts = { ${names.join(', ')} } as const;\n`,
  );
  return files;
}
