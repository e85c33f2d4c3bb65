import { deployArtifacts } from '@makerbook/contracts-evm';
import {
  type Addresses,
  type Creation,
  deployMissing,
  planContracts,
  planDeployment,
  TEST_NATIVE,
  TEST_TOKENS,
} from '@makerbook/operator';
import { Contract, Interface, id, Wallet } from 'ethers';
import {
  type Call,
  type DeployedToken,
  fundMaker,
  giveCoins,
  impersonate,
  mineNow,
  mintable,
  openChain,
  sendCalls,
} from './fund-makers.js';

export type DeployOptions = {
  readonly rpcUrl: string;
  readonly serviceName: string;
  /** Addresses whose quotes the Navigator accepts. Other addresses make another Navigator. */
  readonly quoteSigners: readonly string[];
  readonly chainId: number;
  /** Key of an account with coins. Without it, the chain must be one for development, which gives coins to anybody. */
  readonly key?: string | undefined;
};

/** A constant-product pool that holds both tokens (TestPool). Routes of quotes go through pools. */
export type DeployedPool = { readonly address: string; readonly tokens: readonly [string, string] };

/** Addresses are lowercase hex. */
export type DeployedContracts = {
  readonly limitOrderProtocol: string;
  readonly navigator: string;
  readonly multicall: string;
  /** The contract that fills quotes of the book. Empty if none is deployed. */
  readonly orderFiller: string;
  /** Tokens, each with a public `mint(address,uint256)`. */
  readonly tokens: readonly DeployedToken[];
  /** One pool for USDT with each other token. */
  readonly pools: readonly DeployedPool[];
  readonly quoteSigners: readonly string[];
};

const [{ symbol: FIRST }, ...OTHERS] = [...TEST_TOKENS, TEST_NATIVE] as const;

/**
 * Account 1 of anvil's well-known test accounts. It holds every token and has approved the protocol. So examples can
 * place orders at once.
 */
export const EXAMPLE_MAKER = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8';

/** The first liquidity of each pool, in whole tokens: USDT, then the other token. In the order of `OTHERS`. */
const LIQUIDITY = [
  [3_000_000, 1_000],
  [6_000_000, 100],
  [200_000, 1_000_000],
] as const;

/**
 * Deploys the contracts, with tokens that anybody can mint and pools of them, or finds them from an earlier call. Funds
 * a maker: the account of the key, or the example's maker if there is no key. On a fresh chain for development the
 * options alone decide the addresses.
 * @throws Error naming what was deployed and what was not
 */
export async function deployContracts({
  rpcUrl,
  serviceName,
  quoteSigners: asGiven,
  chainId,
  key,
}: DeployOptions): Promise<DeployedContracts> {
  const quoteSigners = asGiven.map((address) => address.toLowerCase());
  const provider = openChain({ rpcUrl, chainId });
  try {
    const wallet = new Wallet(key?.trim() ?? id(`makerbook deployer of ${serviceName}`), provider);
    if (key === undefined) await giveCoins(provider, wallet.address);
    const contracts = planContracts({ serviceName, quoteSigners, owner: wallet.address, withTokens: true });
    const creations = [...contracts, ...OTHERS.map(({ symbol }) => planPool(symbol))];
    const deployment = await planDeployment(wallet, creations);
    await deployMissing(wallet, creations, deployment, () => mineNow(provider));
    const addressOf = (name: string) => deployment.addresses[name] ?? '';
    const tokens = [...TEST_TOKENS, TEST_NATIVE].map(({ symbol, decimals }) => {
      return { symbol, decimals, address: addressOf(symbol) };
    });
    const limitOrderProtocol = addressOf('LimitOrderProtocol');
    await fillPools(wallet, tokens, deployment.addresses);
    const maker = key === undefined ? await impersonate(provider, EXAMPLE_MAKER) : wallet;
    await fundMaker(maker, tokens, limitOrderProtocol);
    return {
      limitOrderProtocol,
      navigator: addressOf('Navigator'),
      multicall: addressOf('Multicall3'),
      orderFiller: addressOf('OrderFiller'),
      tokens,
      pools: OTHERS.map(({ symbol }) => {
        return { address: addressOf(poolOf(symbol)), tokens: [addressOf(FIRST), addressOf(symbol)] };
      }),
      quoteSigners,
    };
  } finally {
    provider.destroy();
  }
}

const poolOf = (symbol: string) => `pool of ${FIRST} and ${symbol}`;

function planPool(symbol: string): Creation {
  return {
    name: poolOf(symbol),
    artifact: deployArtifacts.TestPool,
    args: (addresses) => [addresses[FIRST], addresses[symbol]],
    isSame: async (pool, addresses) => {
      const held = await Promise.all(['token0', 'token1'].map((method) => pool.getFunction(method)()));
      return held.join().toLowerCase() === [addresses[FIRST], addresses[symbol]].join();
    },
  };
}

/** Gives liquidity to the pools that have none. */
async function fillPools(
  wallet: Wallet,
  [first, ...others]: readonly DeployedToken[],
  addresses: Addresses,
): Promise<void> {
  const calls: Call[] = [];
  for (const [at, token] of others.entries()) {
    const pool = addresses[poolOf(token.symbol)] ?? '';
    if (first === undefined || (await new Contract(pool, syncable, wallet).getFunction('reserve0')()) > 0n) continue;
    for (const [index, { address, decimals }] of [first, token].entries()) {
      const amount = BigInt(LIQUIDITY[at]?.[index] ?? 0) * 10n ** BigInt(decimals);
      calls.push({ to: address, data: mintable.encodeFunctionData('mint', [pool, amount]) });
    }
    calls.push({ to: pool, data: syncable.encodeFunctionData('sync') });
  }
  await sendCalls(wallet, calls);
}

const syncable = new Interface(deployArtifacts.TestPool.abi);

/** Returns the account of a key, in lowercase hex. */
export function accountOf(key: string): string {
  return new Wallet(key.trim()).address.toLowerCase();
}
