import { deployArtifacts } from '@makerbook/contracts-evm';
import { deployMissing, planContracts, planDeployment, TEST_NATIVE, TEST_TOKENS } from '@makerbook/operator';
import { Contract, JsonRpcProvider, MaxUint256, Wallet } from 'ethers';
import type { DeployedContracts, DeployedToken, DeployOptions } from './deploy-contracts.js';

/** What the account is given of each token, in whole tokens. */
const FUNDS = 1_000_000n;

/**
 * Deploys the contracts, with tokens that anybody can mint, on any chain by an account that holds coins there. The account
 * becomes a maker: it mints itself tokens, and approves the protocol. What it has made before is found.
 * @throws Error naming what was made and what was not
 */
export async function deployByKey({
  rpcUrl,
  serviceName,
  quoteSigners,
  chainId,
  key,
}: DeployOptions & { readonly chainId: number; readonly key: string }): Promise<DeployedContracts> {
  const provider = new JsonRpcProvider(rpcUrl, chainId, { staticNetwork: true, cacheTimeout: -1 });
  try {
    const wallet = new Wallet(key.trim(), provider);
    const creations = planContracts({ serviceName, quoteSigners, owner: wallet.address, withTokens: true });
    const deployment = await planDeployment(wallet, creations);
    await deployMissing(wallet, creations, deployment);
    const addressOf = (name: string) => deployment.addresses[name] ?? '';
    const tokens = [...TEST_TOKENS, TEST_NATIVE].map(({ symbol, decimals }) => {
      return { symbol, decimals, address: addressOf(symbol) };
    });
    for (const token of tokens) await fund(wallet, token, addressOf('LimitOrderProtocol'));
    return {
      limitOrderProtocol: addressOf('LimitOrderProtocol'),
      navigator: addressOf('Navigator'),
      multicall: addressOf('Multicall3'),
      orderFiller: addressOf('OrderFiller'),
      tokens,
      pools: [],
      quoteSigners,
    };
  } finally {
    provider.destroy();
  }
}

async function fund(wallet: Wallet, { address, decimals }: DeployedToken, protocol: string): Promise<void> {
  const token = new Contract(address, deployArtifacts.TestToken.abi, wallet);
  if ((await token.getFunction('allowance')(wallet.address, protocol)) > 0n) return;
  for (const [method, ...args] of [
    ['mint', wallet.address, FUNDS * 10n ** BigInt(decimals)],
    ['approve', protocol, MaxUint256],
  ] as const) {
    await (await token.getFunction(method)(...args)).wait();
  }
}

/** The account of a key, in lowercase hex. */
export function accountOf(key: string): string {
  return new Wallet(key.trim()).address.toLowerCase();
}
