import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** One contract as the compiler gives it: its JSON ABI and its creation bytecode, 0x-prefixed. */
export interface CompiledContract {
  readonly name: string;
  readonly abi: readonly unknown[];
  readonly bytecode: string;
}

/** Contracts that the service, the local stack and the tests deploy: name → source file under `sol/`. */
const CONTRACT_SOURCES: Readonly<Record<string, string>> = {
  LimitOrderProtocol: 'LimitOrderProtocol.sol',
  OrderFiller: 'OrderFiller.sol',
  Navigator: 'Navigator.sol',
  TestPool: 'TestPool.sol',
  Multicall3: 'Multicall3.sol',
  TestWallet: 'TestWallet.sol',
  TestToken: 'tokens/TestToken.sol',
  WrappedNative: 'tokens/WrappedNative.sol',
  RebasingToken: 'tokens/RebasingToken.sol',
  FeeOnTransferToken: 'tokens/FeeOnTransferToken.sol',
  IllBehavedToken: 'tokens/IllBehavedToken.sol',
};

interface SolcOutput {
  errors?: { severity: string; formattedMessage: string }[];
  contracts?: Record<string, Record<string, { abi: unknown[]; evm: { bytecode: { object: string } } }>>;
}

/**
 * Compiles the sources under `soliditySources` with the compiler from npm. The result depends only on the sources, the
 * compiler's version and the settings below. Throws with the compiler's words on any error or warning.
 * The compiler is a development dependency: nothing that runs in production imports this file.
 */
export function compileSources(soliditySources: string): CompiledContract[] {
  const require = createRequire(import.meta.url);
  const solc: { compile(input: string, callbacks: object): string } = require('solc');
  const libraries = join(require.resolve('@openzeppelin/contracts/package.json'), '../../..');
  const sources = Object.fromEntries(
    Object.values(CONTRACT_SOURCES).map((file) => [
      file,
      { content: readFileSync(join(soliditySources, file), 'utf8') },
    ]),
  );
  const input = {
    language: 'Solidity',
    sources,
    settings: {
      // Kaia adopted Ethereum's Cancun in a hardfork of the same name. Nothing here needs a later version.
      evmVersion: 'cancun',
      optimizer: { enabled: true, runs: 1_000 },
      // Without the metadata's hash the bytecode does not change with comments or file names.
      metadata: { appendCBOR: false, bytecodeHash: 'none' },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
    },
  };
  const findImport = (path: string) => {
    const folder = path.startsWith('@') ? libraries : soliditySources;
    try {
      return { contents: readFileSync(join(folder, path), 'utf8') };
    } catch {
      return { error: `${path} not found` };
    }
  };
  const output: SolcOutput = JSON.parse(solc.compile(JSON.stringify(input), { import: findImport }));
  const complaints = output.errors?.filter((error) => error.severity !== 'info') ?? [];
  if (complaints.length > 0) throw new Error(complaints.map((error) => error.formattedMessage).join('\n'));

  return Object.entries(CONTRACT_SOURCES).map(([name, file]) => {
    const contract = output.contracts?.[file]?.[name];
    if (contract === undefined) throw new Error(`${file} holds no contract ${name}`);
    return { name, abi: contract.abi, bytecode: `0x${contract.evm.bytecode.object}` };
  });
}

/** The committed files of the compiled contracts: file name under `src/artifacts` → text. */
export function renderArtifacts(contracts: readonly CompiledContract[]): Map<string, string> {
  return new Map(
    contracts.map(({ name, abi, bytecode }) => [`${name}.json`, `${JSON.stringify({ abi, bytecode }, null, 2)}\n`]),
  );
}
