import { deployContracts } from '@makerbook/local-stack';
import { type AnvilPart, startAnvil, startTestParts, stopTestParts, testParts } from '@makerbook/parts';
import { Wallet } from 'ethers';

const SERVICE_NAME = 'Makerbook';
const CHAIN_ID = 8217;

export type Parts = Awaited<ReturnType<typeof openParts>>;

/**
 * Starts the parts that containers run against, as processes of this machine: Kafka, Postgres, Redis and a chain with
 * the contracts. Jest runs that this process starts use the same parts.
 */
export async function openParts() {
  await startTestParts();
  let chain: AnvilPart | undefined;
  const stop = async () => {
    await chain?.stop();
    await stopTestParts();
  };
  try {
    chain = await startAnvil({ chainId: CHAIN_ID, blockTimeSeconds: 1 });
    const { kafkaBrokers, redisUrl, databaseUrl } = testParts();
    return { ...(await describeParts({ kafkaBrokers, redisUrl, databaseUrl: await databaseUrl() }, chain)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Deploys the contracts. @returns addresses of the parts, and the settings by which services find them */
export async function describeParts(
  parts: { readonly kafkaBrokers: string; readonly databaseUrl: string; readonly redisUrl: string },
  { rpcUrl, wsUrl }: AnvilPart,
) {
  const signer = Wallet.createRandom();
  const quoteSigners = [signer.address.toLowerCase()];
  const contracts = await deployContracts({ rpcUrl, serviceName: SERVICE_NAME, quoteSigners, chainId: CHAIN_ID });
  return {
    /** As in a file of addresses, except for the base URL. */
    addresses: { ...parts, rpcUrl, chainId: CHAIN_ID, serviceName: SERVICE_NAME, ...contracts },
    environment: {
      KAFKA_BROKERS: parts.kafkaBrokers,
      DATABASE_URL: parts.databaseUrl,
      REDIS_URL: parts.redisUrl,
      RPC_URL: rpcUrl,
      RPC_WS_URL: wsUrl,
      CHAIN_ID: String(CHAIN_ID),
      SERVICE_NAME,
      LIMIT_ORDER_PROTOCOL_ADDRESS: contracts.limitOrderProtocol,
      MULTICALL_ADDRESS: contracts.multicall,
      NAVIGATOR_ADDRESS: contracts.navigator,
      QUOTE_SIGNER_KEY: signer.privateKey,
    },
  };
}
