import { afterAll, describe, expect, test } from '@jest/globals';
import { startAnvil } from '@makerbook/parts';
import { JsonRpcProvider } from 'ethers';
import { deployContracts } from './deploy-contracts.js';

const signer = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';
const chain = await startAnvil();
const other = await startAnvil({ blockTimeSeconds: 1 });
afterAll(() => Promise.all([chain.stop(), other.stop()]));

describe('deploying the contracts', () => {
  test('puts them at the same addresses on every chain, and finds them instead of deploying again', async () => {
    const options = { serviceName: 'Makerbook', quoteSigners: [signer] };
    const first = await deployContracts({ ...options, rpcUrl: chain.rpcUrl });
    const second = await deployContracts({ ...options, rpcUrl: other.rpcUrl });
    expect(second).toEqual(first);
    expect(first.quoteSigners).toEqual([signer.toLowerCase()]);

    const rpc = new JsonRpcProvider(chain.rpcUrl, 8217, { staticNetwork: true, cacheTimeout: -1 });
    const blocks = await rpc.getBlockNumber();
    expect(await deployContracts({ ...options, rpcUrl: chain.rpcUrl })).toEqual(first);
    expect(await rpc.getBlockNumber()).toBe(blocks);
    for (const address of [first.limitOrderProtocol, first.navigator, first.multicall]) {
      expect((await rpc.getCode(address)).length).toBeGreaterThan(100);
    }
    rpc.destroy();
  });

  test('another service name gets contracts of its own', async () => {
    const options = { rpcUrl: chain.rpcUrl, quoteSigners: [signer] };
    const first = await deployContracts({ ...options, serviceName: 'Makerbook' });
    const second = await deployContracts({ ...options, serviceName: 'Otherbook' });
    expect(second.limitOrderProtocol).not.toBe(first.limitOrderProtocol);
  });
});
