import type { DeployedContracts } from './deploy-contracts.js';
import type { Signer } from './keep-signer.js';
import { given, inheritedOf, type StackSettings } from './stack-env.js';
import type { Addresses } from './start-parts.js';

export type Environment = Readonly<Record<string, string | undefined>>;

export const LOOPBACK = '127.0.0.1';
/** Host names to accept. A page whose own name resolves to this machine must not reach the faucet (DNS rebinding). */
const LOCAL_NAMES = ['localhost', LOOPBACK, '[::1]'];

/** Returns the variables of every service of the stack. @param shared variables, which the stack's own override */
export function serviceEnvironment(
  shared: Environment,
  settings: StackSettings,
  parts: { addresses: Addresses; contracts: DeployedContracts; quoteSigner: Signer; receiptSigner: Signer },
): Environment {
  const { addresses, contracts, quoteSigner, receiptSigner } = parts;
  return {
    ...inheritedOf(shared),
    KAFKA_BROKERS: addresses.kafkaBrokers,
    DATABASE_URL: addresses.databaseUrl,
    REDIS_URL: addresses.redisUrl,
    RPC_URL: addresses.rpcUrl,
    WALLET_RPC_URL: given(settings.WALLET_RPC_URL) ?? addresses.rpcUrl,
    // The stack's own chain announces a block as soon as it is mined.
    ...(given(settings.RPC_URL) === undefined && {
      RPC_WS_URL: addresses.rpcUrl.replace(/^http/, 'ws'),
      CONSOLE_LINKS: 'runbook=/local/runbook#{},block=/local/chain/{},transaction=/local/chain/{}',
    }),
    // Other machines may reach the gateway alone.
    HOST: LOOPBACK,
    HOST_NAMES: [...LOCAL_NAMES, ...settings.HOST_NAMES].join(','),
    CHAIN_ID: String(settings.CHAIN_ID),
    SERVICE_NAME: settings.SERVICE_NAME,
    LIMIT_ORDER_PROTOCOL_ADDRESS: contracts.limitOrderProtocol,
    MULTICALL_ADDRESS: contracts.multicall,
    NAVIGATOR_ADDRESS: contracts.navigator,
    ...(contracts.orderFiller !== '' && {
      ORDER_FILLER_ADDRESS: contracts.orderFiller,
      TOKENS: contracts.tokens.map((token) => `${token.symbol}:${token.decimals}:${token.address}`).join(','),
    }),
    QUOTE_SIGNERS: contracts.quoteSigners.join(','),
    ...quoteSigner.environment,
    RECEIPT_SIGNERS: [receiptSigner.address, ...settings.RECEIPT_SIGNERS].join(','),
    ...receiptSigner.environment,
  };
}
