import { describe, expect, test } from '@jest/globals';
import { JsonRpcProvider } from 'ethers';
import { type AnvilPart, startAnvil } from './index.js';
import { openFolder } from './testing/open-folder.js';

const { inFolder, keep } = openFolder('chain');
const withProvider = async <T>(part: AnvilPart, ask: (provider: JsonRpcProvider) => Promise<T>): Promise<T> => {
  const provider = new JsonRpcProvider(part.rpcUrl, 8217, { staticNetwork: true, cacheTimeout: -1 });
  try {
    return await ask(provider);
  } finally {
    provider.destroy();
  }
};

describe('anvil', () => {
  test('keeps its chain when it is stopped, block hashes included', async () => {
    const dataDir = inFolder('kept');
    const before = await keep(startAnvil({ dataDir }));
    const hash = await withProvider(before, async (provider) => {
      await provider.send('anvil_mine', ['0x5']);
      return (await provider.getBlock(5))?.hash;
    });
    expect(hash).toMatch(/^0x[0-9a-f]{64}$/);
    await before.stop();

    const after = await keep(startAnvil({ dataDir }));
    await withProvider(after, async (provider) => {
      expect(await provider.getBlockNumber()).toBe(5);
      expect((await provider.getBlock(5))?.hash).toBe(hash);
    });
  });
});
