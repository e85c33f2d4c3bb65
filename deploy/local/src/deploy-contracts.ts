import { deployArtifacts } from '@makerbook/contracts-evm';
import {
  ContractFactory,
  getCreateAddress,
  type InterfaceAbi,
  id,
  JsonRpcProvider,
  parseEther,
  toBeHex,
  Wallet,
} from 'ethers';

const RECEIPT_TIMEOUT_MS = 60_000;

export type DeployOptions = {
  readonly rpcUrl: string;
  readonly serviceName: string;
  /** Addresses whose quotes the Navigator takes. Others make another Navigator. */
  readonly quoteSigners: readonly string[];
};

export type DeployedToken = { readonly symbol: string; readonly address: string; readonly decimals: number };

/** Addresses are lowercase hex. */
export type DeployedContracts = {
  readonly limitOrderProtocol: string;
  readonly navigator: string;
  readonly multicall: string;
  /** Each has a public `mint(address,uint256)`. */
  readonly tokens: readonly DeployedToken[];
  readonly quoteSigners: readonly string[];
};

const TOKENS = [
  { name: 'Test Tether', symbol: 'USDT', decimals: 6 },
  { name: 'Test Wrapped Ether', symbol: 'WETH', decimals: 18 },
  { name: 'Test Wrapped Bitcoin', symbol: 'WBTC', decimals: 8 },
] as const;
const NATIVE = { name: 'Test Wrapped Kaia', symbol: 'WKAIA', decimals: 18 } as const;

/**
 * Deploys the contracts on a development chain, or finds them there from an earlier call with the same options.
 * The deployers' keys follow from the options and they deploy nothing else, in a fixed order, so the addresses follow
 * from the options as well: that of the Navigator from both, all others from the service name.
 * @throws Error when the chain does not answer or gives the deployer no coins (`anvil_setBalance`)
 */
export async function deployContracts(options: DeployOptions): Promise<DeployedContracts> {
  const { serviceName } = options;
  const quoteSigners = options.quoteSigners.map((address) => address.toLowerCase());
  const provider = new JsonRpcProvider(options.rpcUrl, undefined, { cacheTimeout: -1, pollingInterval: 200 });
  try {
    const deployer = new Wallet(id(`makerbook deployer of ${serviceName}`), provider);
    const creations: Creation[] = [
      { artifact: deployArtifacts.LimitOrderProtocol, args: [serviceName] },
      { artifact: deployArtifacts.Multicall3, args: [] },
      ...TOKENS.map((token) => ({
        artifact: deployArtifacts.TestToken,
        args: [token.name, token.symbol, token.decimals],
      })),
      { artifact: deployArtifacts.WrappedNative, args: [NATIVE.name, NATIVE.symbol] },
    ];
    await deployMissing(provider, deployer, creations);
    // Its signers are part of its construction: those that differ get another Navigator, and all else stays.
    const owner = new Wallet(id(`makerbook navigator of ${serviceName} for ${quoteSigners.join()}`), provider);
    const navigator = { artifact: deployArtifacts.Navigator, args: [serviceName, owner.address, quoteSigners] };
    await deployMissing(provider, owner, [navigator]);
    const [limitOrderProtocol = '', multicall = '', ...tokens] = creations.map((_, nonce) =>
      getCreateAddress({ from: deployer.address, nonce }).toLowerCase(),
    );
    return {
      limitOrderProtocol,
      navigator: getCreateAddress({ from: owner.address, nonce: 0 }).toLowerCase(),
      multicall,
      tokens: [...TOKENS, NATIVE].map(({ symbol, decimals }, index) => ({
        symbol,
        address: tokens[index] ?? '',
        decimals,
      })),
      quoteSigners,
    };
  } finally {
    provider.destroy();
  }
}

type Creation = {
  readonly artifact: { readonly abi: InterfaceAbi; readonly bytecode: string };
  readonly args: readonly unknown[];
};

/** Sends what is missing at once, so that it takes one block or two, and waits for it. */
async function deployMissing(
  provider: JsonRpcProvider,
  deployer: Wallet,
  creations: readonly Creation[],
): Promise<void> {
  const first = await provider.getTransactionCount(deployer.address);
  if (first >= creations.length) return;
  await provider.send('anvil_setBalance', [deployer.address, toBeHex(parseEther('1000'))]);
  const sent = [];
  for (const [nonce, { artifact, args }] of creations.entries()) {
    if (nonce < first) continue;
    const factory = new ContractFactory(artifact.abi, artifact.bytecode, deployer);
    sent.push(await factory.deploy(...args, { nonce }));
  }
  for (const contract of sent) {
    const receipt = await contract.deploymentTransaction()?.wait(1, RECEIPT_TIMEOUT_MS);
    if (receipt?.status !== 1) throw new Error('a contract could not be deployed');
  }
}
