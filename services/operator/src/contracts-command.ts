import { readSettings } from '@makerbook/settings';
import { formatEther, JsonRpcProvider, Wallet } from 'ethers';
import { type Deployment, DeploymentError, deployMissing, planDeployment } from './contracts/deploy-contracts.js';
import { type Addresses, planContracts, TEST_NATIVE, TEST_TOKENS } from './contracts/plan-contracts.js';
import { contractSettings } from './env.js';
import type { Outcome } from './outcome.js';

const NOT_AGREED = 'Nothing was sent. To send them, add --yes';

export interface ContractsCommand {
  readonly do: 'contracts';
  readonly withTokens: boolean;
  /** True deploys what is missing. False only shows it. */
  readonly isSure: boolean;
}

export const contractsUsage = [
  'contracts                      shows what is missing on the chain of RPC_URL; --yes: deploys it by the key in',
  '                               DEPLOYER_KEY_FILE, and prints the settings; --tokens: also tokens that anybody can mint',
];

/**
 * Shows which contracts of the service are missing, and deploys them if the operator is sure.
 * @param say prints a line on the terminal
 */
export async function runContracts(
  { withTokens, isSure }: Omit<ContractsCommand, 'do'>,
  environment: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<Outcome> {
  const settings = readSettings(contractSettings, environment);
  const [url = ''] = settings.RPC_URL;
  const provider = new JsonRpcProvider(url, settings.CHAIN_ID, { staticNetwork: true, cacheTimeout: -1 });
  try {
    await requireChain(provider, settings.CHAIN_ID);
    const wallet = new Wallet(settings.DEPLOYER_KEY, provider);
    const { SERVICE_NAME: serviceName, QUOTE_SIGNERS: quoteSigners } = settings;
    const creations = planContracts({ serviceName, quoteSigners, owner: wallet.address, withTokens });
    const deployment = await planDeployment(wallet, creations);
    for (const line of describePlan(settings.CHAIN_ID, wallet.address, deployment)) say(line);
    const { missing, addresses } = deployment;
    if (missing.length > 0 && !isSure) return { lines: [NOT_AGREED], exitCode: 1 };
    await deployMissing(wallet, creations, deployment);
    return {
      lines: describeSettings(addresses, { serviceName, quoteSigners, chainId: settings.CHAIN_ID }),
      exitCode: 0,
    };
  } catch (error) {
    if (!(error instanceof DeploymentError)) throw new DeploymentError(withoutUrl(error, url));
    throw error;
  } finally {
    provider.destroy();
  }
}

async function requireChain(provider: JsonRpcProvider, chainId: number): Promise<void> {
  const actual = Number(await provider.send('eth_chainId', []));
  if (actual !== chainId) {
    throw new DeploymentError(`RPC_URL has chain id ${actual}, but CHAIN_ID is ${chainId}. Nothing was sent`);
  }
}

function describePlan(chainId: number, account: string, { found, missing, cost, balance, addresses }: Deployment) {
  return [
    `chain ${chainId}, account ${account.toLowerCase()} with ${formatEther(balance)} coins`,
    ...Object.entries(found).map(([name, address]) => `${name} is at ${address}`),
    ...missing.map(({ name }) => `${name} will be at ${addresses[name]}`),
    missing.length === 0 ? 'nothing is missing' : `${missing.length} transactions, at most ${formatEther(cost)} coins`,
  ];
}

/** The settings of the services, as lines of an `.env` file, and as values of the Helm chart. */
function describeSettings(
  addresses: Addresses,
  { serviceName, quoteSigners, chainId }: { serviceName: string; quoteSigners: readonly string[]; chainId: number },
): string[] {
  const decimals = new Map([...TEST_TOKENS, TEST_NATIVE].map((token) => [token.symbol as string, token.decimals]));
  const tokens = Object.entries(addresses).filter(([name]) => decimals.has(name));
  const settings: readonly (readonly [string, string])[] = [
    ['SERVICE_NAME', serviceName],
    ['CHAIN_ID', String(chainId)],
    ['LIMIT_ORDER_PROTOCOL_ADDRESS', addresses['LimitOrderProtocol'] ?? ''],
    ['MULTICALL_ADDRESS', addresses['Multicall3'] ?? ''],
    ['NAVIGATOR_ADDRESS', addresses['Navigator'] ?? ''],
    ['ORDER_FILLER_ADDRESS', addresses['OrderFiller'] ?? ''],
    ['QUOTE_SIGNERS', quoteSigners.join(',')],
    ...(tokens.length === 0
      ? []
      : [['TOKENS', tokens.map(([name, at]) => `${name}:${decimals.get(name)}:${at}`).join(',')] as const]),
  ];
  const env = settings.map(([name, value]) => `${name}=${/[^\w.,:-]/.test(value) ? JSON.stringify(value) : value}`);
  const values = settings.map(([name, value]) => `  ${name}: ${JSON.stringify(value)}`);
  return ['', '# .env', ...env, '', '# values of the Helm chart', 'settings:', ...values];
}

/** Hides the node's address, which may hold a key. */
function withoutUrl(error: unknown, url: string): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replaceAll(url, 'RPC_URL');
}
