import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import { type AnvilPart, startAnvil } from '@makerbook/parts';
import { Contract, JsonRpcProvider, MaxUint256 } from 'ethers';
import { deployContracts, EXAMPLE_MAKER } from './deploy-contracts.js';

// Processes are started several times: on a busy machine that takes its time.
jest.setTimeout(240_000);

const signer = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';
const provider = (part: AnvilPart) => new JsonRpcProvider(part.rpcUrl, 8217, { staticNetwork: true, cacheTimeout: -1 });
let chain: AnvilPart;
let other: AnvilPart;

beforeAll(async () => {
  chain = await startAnvil();
  other = await startAnvil({ blockTimeSeconds: 1 });
});
afterAll(() => Promise.all([chain.stop(), other.stop()]));

describe('deploying the contracts', () => {
  test('puts them at the same addresses on every chain, and finds them instead of deploying again', async () => {
    const options = { serviceName: 'Makerbook', quoteSigners: [signer] };
    const first = await deployContracts({ ...options, rpcUrl: chain.rpcUrl });
    const second = await deployContracts({ ...options, rpcUrl: other.rpcUrl });
    expect(second).toEqual(first);
    expect(first.quoteSigners).toEqual([signer.toLowerCase()]);

    const rpc = provider(chain);
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

  test('gives tokens that everyone can mint', async () => {
    const rpc = provider(chain);
    const { tokens } = await deployContracts({
      rpcUrl: chain.rpcUrl,
      serviceName: 'Makerbook',
      quoteSigners: [signer],
    });
    expect(tokens.map(({ symbol, decimals }) => `${symbol} ${decimals}`)).toEqual([
      'USDT 6',
      'WETH 18',
      'WBTC 8',
      'WKAIA 18',
    ]);
    const anyone = await rpc.getSigner(5);
    for (const { address, symbol, decimals } of tokens) {
      const token = new Contract(address, deployArtifacts.TestToken.abi, anyone);
      expect(await token.getFunction('symbol')()).toBe(symbol);
      expect(await token.getFunction('decimals')()).toBe(BigInt(decimals));
      const { hash } = await token.getFunction('mint')(signer, 12n);
      while ((await rpc.getTransactionReceipt(hash)) === null) await delay(20);
      expect(await token.getFunction('balanceOf')(signer)).toBe(12n);
    }
    rpc.destroy();
  });

  test('gives the maker of the examples tokens, which the protocol may take', async () => {
    const rpc = provider(chain);
    const options = { rpcUrl: chain.rpcUrl, serviceName: 'Makerbook', quoteSigners: [signer] };
    const { tokens, limitOrderProtocol } = await deployContracts(options);
    // Not more of it at a second start.
    await deployContracts(options);
    for (const { address, decimals } of tokens) {
      const token = new Contract(address, deployArtifacts.TestToken.abi, rpc);
      expect(await token.getFunction('balanceOf')(EXAMPLE_MAKER)).toBe(10n ** BigInt(6 + decimals));
      expect(await token.getFunction('allowance')(EXAMPLE_MAKER, limitOrderProtocol)).toBe(MaxUint256);
    }
    rpc.destroy();
  });

  test('gives pools that hold both their tokens and quote them', async () => {
    const rpc = provider(chain);
    const { tokens, pools } = await deployContracts({
      rpcUrl: chain.rpcUrl,
      serviceName: 'Makerbook',
      quoteSigners: [signer],
    });
    expect(pools.map((pool) => pool.tokens)).toEqual(
      tokens.slice(1).map(({ address }) => [tokens[0]?.address, address]),
    );
    for (const { address, tokens: pair } of pools) {
      const pool = new Contract(address, deployArtifacts.TestPool.abi, rpc);
      for (const token of pair) {
        const held = await new Contract(token, deployArtifacts.TestToken.abi, rpc).getFunction('balanceOf')(address);
        expect(held).toBeGreaterThan(0n);
        expect(await pool.getFunction('quote')(token, held / 1000n)).toBeGreaterThan(0n);
      }
    }
    rpc.destroy();
  });
});
