import type { CompiledContract } from './compile-sources.js';

/** The committed files of the compiled contracts: file name under `src/artifacts` → text. */
export function renderArtifacts(contracts: readonly CompiledContract[]): Map<string, string> {
  return new Map(
    contracts.map(({ name, abi, bytecode }) => [`${name}.json`, `${JSON.stringify({ abi, bytecode }, null, 2)}\n`]),
  );
}
