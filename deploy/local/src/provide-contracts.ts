import { ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { WELL_KNOWN_MULTICALL } from '@makerbook/operator';
import { PartError } from '@makerbook/parts';
import { type DeployedContracts, deployContracts } from './deploy-contracts.js';
import { TEST_QUOTE_SIGNER } from './keep-signer.js';
import { given, type StackSettings } from './stack-env.js';

/**
 * Returns the contracts that the services use. It deploys them on the stack's own chain, and on a chain that accepts
 * deployments. A contract whose address is configured replaces the deployed one.
 * @param rpcUrl nodes of the chain, comma-separated
 * @param ownSigner address of the service's own quote-signer key
 * @throws PartError if it cannot deploy them
 */
export async function provideContracts(
  settings: StackSettings,
  rpcUrl: string,
  ownSigner: string,
): Promise<DeployedContracts> {
  const isByKey = settings.DEPLOYER_KEY !== '' && given(settings.RPC_URL) !== undefined;
  // Given a deployer's key, leave out the test account, whose key is public.
  const quoteSigners = given(settings.QUOTE_SIGNERS) ?? (isByKey ? [ownSigner] : [ownSigner, TEST_QUOTE_SIGNER]);
  const limitOrderProtocol = given(settings.LIMIT_ORDER_PROTOCOL_ADDRESS);
  const multicall = unlessZero(settings.MULTICALL_ADDRESS);
  const navigator = unlessZero(settings.NAVIGATOR_ADDRESS);
  if (limitOrderProtocol !== undefined && given(settings.RPC_URL) !== undefined) {
    return {
      limitOrderProtocol,
      multicall: multicall ?? WELL_KNOWN_MULTICALL,
      navigator: navigator ?? ZERO_ADDRESS,
      orderFiller: '',
      tokens: [],
      pools: [],
      quoteSigners,
    };
  }
  try {
    const [firstUrl = rpcUrl] = rpcUrl.split(',');
    const options = {
      rpcUrl: firstUrl,
      serviceName: settings.SERVICE_NAME,
      quoteSigners: [...new Set([...quoteSigners, ownSigner])],
      chainId: settings.CHAIN_ID,
      key: isByKey ? settings.DEPLOYER_KEY : undefined,
    };
    const deployed = await deployContracts(options);
    return {
      ...deployed,
      limitOrderProtocol: limitOrderProtocol ?? deployed.limitOrderProtocol,
      multicall: multicall ?? deployed.multicall,
      navigator: navigator ?? deployed.navigator,
      quoteSigners,
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const hint =
      'give DEPLOYER_KEY_FILE, the key of an account with coins there, or LIMIT_ORDER_PROTOCOL_ADDRESS, MULTICALL_ADDRESS and NAVIGATOR_ADDRESS for a chain that has them';
    throw new PartError('contracts', `the contracts cannot be deployed on the chain of RPC_URL: ${hint}`, reason);
  }
}

function unlessZero(address: string): string | undefined {
  return address === ZERO_ADDRESS ? undefined : address;
}
