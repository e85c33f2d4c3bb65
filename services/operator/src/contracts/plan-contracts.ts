import { deployArtifacts } from '@makerbook/contracts-evm';
import { Contract, type ContractRunner, type InterfaceAbi } from 'ethers';

/** Addresses in lowercase hex, keyed by contract name. */
export type Addresses = Readonly<Record<string, string>>;

/** A contract of a deployment. */
export interface Creation {
  readonly name: string;
  readonly artifact: { readonly abi: InterfaceAbi; readonly bytecode: string };
  /** The arguments of its constructor, given the addresses of the contracts before it. */
  readonly args: (addresses: Addresses) => readonly unknown[];
  /** True if a contract with its code was made with these arguments. */
  readonly isSame: (contract: Contract, addresses: Addresses) => Promise<boolean>;
}

export interface PlanOptions {
  readonly serviceName: string;
  /** Addresses whose quotes the Navigator takes; its owner, the deploying account, can change them later. */
  readonly quoteSigners: readonly string[];
  readonly owner: string;
  /** True adds tokens for tests, which anybody can mint. */
  readonly withTokens: boolean;
}

export const TEST_TOKENS = [
  { name: 'Test Tether', symbol: 'USDT', decimals: 6 },
  { name: 'Test Wrapped Ether', symbol: 'WETH', decimals: 18 },
  { name: 'Test Wrapped Bitcoin', symbol: 'WBTC', decimals: 8 },
] as const;
export const TEST_NATIVE = { name: 'Test Wrapped Kaia', symbol: 'WKAIA', decimals: 18 } as const;

/** The contracts in the order of their creation: each comes after those that it names. */
export function planContracts({ serviceName, quoteSigners, owner, withTokens }: PlanOptions): readonly Creation[] {
  const isNamed = (name: string) => async (contract: Contract) => (await ask(contract, 'eip712Domain'))?.name === name;
  const isToken = (symbol: string, decimals: number) => async (contract: Contract) =>
    (await ask(contract, 'symbol')) === symbol && Number(await ask(contract, 'decimals')) === decimals;
  const tokens = TEST_TOKENS.map(({ name, symbol, decimals }): Creation => {
    const args = () => [name, symbol, decimals];
    return { name: symbol, artifact: deployArtifacts.TestToken, args, isSame: isToken(symbol, decimals) };
  });
  const native: Creation = {
    name: TEST_NATIVE.symbol,
    artifact: deployArtifacts.WrappedNative,
    args: () => [TEST_NATIVE.name, TEST_NATIVE.symbol],
    isSame: isToken(TEST_NATIVE.symbol, TEST_NATIVE.decimals),
  };
  return [
    {
      name: 'LimitOrderProtocol',
      artifact: deployArtifacts.LimitOrderProtocol,
      args: () => [serviceName],
      isSame: isNamed(`${serviceName} Limit Order Protocol`),
    },
    { name: 'Multicall3', artifact: deployArtifacts.Multicall3, args: () => [], isSame: async () => true },
    ...(withTokens ? [...tokens, native] : []),
    {
      name: 'OrderFiller',
      artifact: deployArtifacts.OrderFiller,
      args: ({ LimitOrderProtocol }) => [LimitOrderProtocol],
      isSame: async (contract, { LimitOrderProtocol }) =>
        String(await ask(contract, 'protocol')).toLowerCase() === LimitOrderProtocol,
    },
    {
      name: 'Navigator',
      artifact: deployArtifacts.Navigator,
      args: () => [serviceName, owner, quoteSigners],
      isSame: async (contract) => {
        if (!(await isNamed(`${serviceName} Navigator`)(contract))) return false;
        const admitted = await Promise.all(quoteSigners.map((signer) => ask(contract, 'isQuoteSigner', signer)));
        return admitted.every(Boolean);
      },
    },
  ];
}

/** The contract with the creation's interface at an address. */
export function contractAt({ artifact }: Creation, address: string, runner: ContractRunner): Contract {
  return new Contract(address, artifact.abi, runner);
}

/**
 * True if this creation made the code. The code equals the end of the creation's bytecode, except for immutable values,
 * which are zeros there.
 * @param code the account's code, in hex
 */
export function isCodeOf({ artifact }: Creation, code: string): boolean {
  const deployed = Buffer.from(code.slice(2), 'hex');
  const creation = Buffer.from(artifact.bytecode.replace(/^0x/, ''), 'hex');
  if (deployed.length === 0 || deployed.length >= creation.length) return false;
  const template = creation.subarray(creation.length - deployed.length);
  return template.every((byte, at) => byte === 0 || byte === deployed[at]);
}

// biome-ignore lint/suspicious/noExplicitAny: what an ABI function returns is known to its caller.
async function ask(contract: Contract, method: string, ...args: unknown[]): Promise<any> {
  return await contract.getFunction(method)(...args);
}
