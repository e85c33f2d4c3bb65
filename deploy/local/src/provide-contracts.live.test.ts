import { afterAll, describe, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import { startAnvil, startMisbehavingNode } from '@makerbook/parts';
import { Contract, JsonRpcProvider, parseEther, toBeHex, Wallet } from 'ethers';
import { deployContracts } from './deploy-contracts.js';
import { TEST_QUOTE_SIGNER } from './keep-signer.js';
import { provideContracts } from './provide-contracts.js';
import { readStackEnvironment } from './stack-env.js';

const ownSigner = `0x${'51'.repeat(20)}`;
const elsewhere = `0x${'ab'.repeat(20)}`;
const chain = await startAnvil();
const other = await startAnvil({ blockTimeSeconds: 1 });
afterAll(() => Promise.all([chain.stop(), other.stop()]));

const provide = (environment: Record<string, string>, rpcUrl = chain.rpcUrl) =>
  provideContracts(readStackEnvironment(environment), rpcUrl, ownSigner);
const deploy = (rpcUrl: string, serviceName = 'Makerbook') =>
  deployContracts({ rpcUrl, serviceName, quoteSigners: [ownSigner, TEST_QUOTE_SIGNER], chainId: 8217 });

describe('the contracts of the services', () => {
  test('are at the same addresses on every chain, and are found instead of deployed again', async () => {
    const first = await provide({});
    expect(await deploy(other.rpcUrl)).toEqual(first);
    const rpc = new JsonRpcProvider(chain.rpcUrl, 8217, { staticNetwork: true, cacheTimeout: -1 });
    const blocks = await rpc.getBlockNumber();
    expect(await deploy(chain.rpcUrl)).toEqual(first);
    expect(await rpc.getBlockNumber()).toBe(blocks);
    for (const address of [first.limitOrderProtocol, first.navigator, first.multicall]) {
      expect((await rpc.getCode(address)).length).toBeGreaterThan(100);
    }
    rpc.destroy();
  });

  test('are different for another service name', async () => {
    const second = await deploy(chain.rpcUrl, 'Otherbook');
    expect(second.limitOrderProtocol).not.toBe((await provide({})).limitOrderProtocol);
  });

  test.each([
    ['LIMIT_ORDER_PROTOCOL_ADDRESS', 'limitOrderProtocol'],
    ['MULTICALL_ADDRESS', 'multicall'],
    ['NAVIGATOR_ADDRESS', 'navigator'],
  ] as const)('are those that were deployed, except the one that %s gives', async (setting, contract) => {
    const deployed = await provide({});
    expect(await provide({ [setting]: elsewhere })).toEqual({ ...deployed, [contract]: elsewhere });
  });

  test('are deployed with the given key on a chain not for development, and its account gets tokens', async () => {
    const rpc = new JsonRpcProvider(chain.rpcUrl, 8217, { staticNetwork: true, cacheTimeout: -1 });
    const account = Wallet.createRandom();
    await rpc.send('anvil_setBalance', [account.address, toBeHex(parseEther('10'))]);
    const node = await startMisbehavingNode(chain.rpcUrl, (calls, forward) => {
      if (calls.some(({ method }) => /^(anvil|evm)_/.test(method))) throw new Error('no development chain');
      return forward(calls);
    });
    try {
      const given = { RPC_URL: node.url, DEPLOYER_KEY: account.privateKey };
      const first = await provide(given, node.url);
      expect(first.tokens.map(({ symbol }) => symbol)).toEqual(['USDT', 'WETH', 'WBTC', 'WKAIA']);
      const [usdt] = first.tokens.map(({ address }) => new Contract(address, deployArtifacts.TestToken.abi, rpc));
      expect(await usdt?.getFunction('balanceOf')(account.address)).toBe(10n ** 12n);
      expect(await usdt?.getFunction('allowance')(account.address, first.limitOrderProtocol)).toBeGreaterThan(0n);
      const count = await rpc.getTransactionCount(account.address);
      expect(await provide(given, node.url)).toEqual(first);
      expect(await rpc.getTransactionCount(account.address)).toBe(count);
      await expect(provide({ RPC_URL: node.url, SERVICE_NAME: 'Elsewhere' }, node.url)).rejects.toThrow(
        /give DEPLOYER_KEY_FILE/,
      );
    } finally {
      rpc.destroy();
      await node.close();
    }
  });

  test('are not deployed if they are given, and Multicall3 is then at its well-known address', async () => {
    const given = { RPC_URL: 'http://127.0.0.1:9', LIMIT_ORDER_PROTOCOL_ADDRESS: elsewhere };
    const contracts = { limitOrderProtocol: elsewhere, navigator: `0x${'0'.repeat(40)}`, tokens: [], pools: [] };
    const multicall = '0xca11bde05977b3631167028862be2a173976ca11';
    expect(await provide(given)).toMatchObject({ ...contracts, multicall });
    expect(await provide({ ...given, MULTICALL_ADDRESS: ownSigner })).toMatchObject({
      ...contracts,
      multicall: ownSigner,
    });
  });
});
