import { deployContracts } from '@makerbook/local-stack';
import { type AnvilPart, startAnvil, startTestParts, stopTestParts, testParts } from '@makerbook/parts';
import { Wallet } from 'ethers';

const SERVICE_NAME = 'Makerbook';
const CHAIN_ID = 8217;

export type Parts = Awaited<ReturnType<typeof openParts>>;

/**
 * Kafka, Postgres, Redis and a chain with the contracts, as processes of this machine: what containers are run against. Jest runs
 * that are started by this process use the same ones.
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
    const signer = Wallet.createRandom();
    const contracts = await deployContracts({
      rpcUrl: chain.rpcUrl,
      serviceName: SERVICE_NAME,
      quoteSigners: [signer.address.toLowerCase()],
    });
    const addresses = { kafkaBrokers, redisUrl, databaseUrl: await databaseUrl(), rpcUrl: chain.rpcUrl };
    const environment = {
      KAFKA_BROKERS: kafkaBrokers,
      DATABASE_URL: addresses.databaseUrl,
      REDIS_URL: redisUrl,
      RPC_URL: chain.rpcUrl,
      RPC_WS_URL: chain.wsUrl,
      CHAIN_ID: String(CHAIN_ID),
      SERVICE_NAME,
      LIMIT_ORDER_PROTOCOL_ADDRESS: contracts.limitOrderProtocol,
      MULTICALL_ADDRESS: contracts.multicall,
      NAVIGATOR_ADDRESS: contracts.navigator,
      QUOTE_SIGNER_KEY: signer.privateKey,
    };
    return {
      /** As a file of addresses has them, but for the base URL. */
      addresses: { ...addresses, chainId: CHAIN_ID, serviceName: SERVICE_NAME, ...contracts },
      /** The same as settings of the services. */
      environment,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
