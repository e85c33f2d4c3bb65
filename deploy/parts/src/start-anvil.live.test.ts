import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { JsonRpcProvider } from 'ethers';
import { type AnvilOptions, type AnvilPart, startAnvil } from './index.js';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-chain-'));
const started: AnvilPart[] = [];
const start = async (options: AnvilOptions) => {
  const part = await startAnvil(options);
  started.push(part);
  return part;
};
const withProvider = async <T>(part: AnvilPart, ask: (provider: JsonRpcProvider) => Promise<T>): Promise<T> => {
  const provider = new JsonRpcProvider(part.rpcUrl, 8217, { staticNetwork: true, cacheTimeout: -1 });
  try {
    return await ask(provider);
  } finally {
    provider.destroy();
  }
};

afterAll(async () => {
  await Promise.all(started.map((part) => part.stop()));
  rmSync(folder, { recursive: true, force: true });
});

describe('anvil', () => {
  test('keeps its chain over a stop, block hashes included', async () => {
    const dataDir = join(folder, 'kept');
    const before = await start({ dataDir });
    const hash = await withProvider(before, async (provider) => {
      await provider.send('anvil_mine', ['0x5']);
      return (await provider.getBlock(5))?.hash;
    });
    expect(hash).toMatch(/^0x[0-9a-f]{64}$/);
    await before.stop();

    const after = await start({ dataDir });
    await withProvider(after, async (provider) => {
      expect(await provider.getBlockNumber()).toBe(5);
      expect((await provider.getBlock(5))?.hash).toBe(hash);
    });
    await after.stop();
  });

  test('refuses a broken chain in one sentence that says what to do', async () => {
    const dataDir = join(folder, 'broken');
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, 'state.json'), '{"block": tru');
    await expect(start({ dataDir })).rejects.toMatchObject({
      name: 'PartError',
      message: expect.stringMatching(/broken is broken, move it away$/),
    });
  });

  test('names the port that is in use', async () => {
    const part = await start({});
    const port = Number(new URL(part.rpcUrl).port);
    await expect(start({ port })).rejects.toMatchObject({ message: `anvil cannot listen: port ${port} is in use` });
  });
});
