import { afterAll, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import { Wallet } from 'ethers';
import { openCode } from './index.js';
import { openChain } from './testing/open-chain.js';

const chain = await openChain();
const opened: { close(): void }[] = [];
afterAll(async () => {
  for (const each of opened) each.close();
  await chain.stop();
});

function open(url: string, chainId = 8217) {
  const reasons: string[] = [];
  const onAway = (reason: string) => reasons.push(reason);
  const code = openCode({ urls: [url], chainId, timeoutMs: 60_000, monotonicMs: () => 0, onAway });
  if (code === undefined) throw new Error('it has a URL');
  opened.push(code);
  return { ask: code.ask, reasons };
}

test('a contract has code, and an account has none', async () => {
  const { ask, reasons } = open(chain.anvil.rpcUrl);
  const { address } = new Wallet(`0x${'42'.repeat(32)}`);
  const contract = await chain.deploy(deployArtifacts.TestWallet, address);
  expect([await ask(contract), await ask(address as `0x${string}`), reasons]).toEqual([true, false, []]);
});

test('code is unknown while no node of the chain answers, and is not asked for without a node', async () => {
  for (const { ask, reasons } of [open('http://127.0.0.1:1'), open(chain.anvil.rpcUrl, 1)]) {
    expect(await ask(`0x${'11'.repeat(20)}`)).toBeUndefined();
    expect(reasons).toHaveLength(1);
  }
  expect(
    openCode({ urls: [], chainId: 1, timeoutMs: 1, monotonicMs: () => 0, onAway: () => undefined }),
  ).toBeUndefined();
});
