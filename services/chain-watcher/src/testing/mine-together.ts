import type { Address, Hex } from '@makerbook/contracts-primitives';
import { until } from '@makerbook/parts';
import { Contract, type InterfaceAbi, type NonceManager } from 'ethers';
import type { Stage } from './stage-chain.js';

interface Transaction {
  readonly signer: NonceManager;
  readonly to: Address;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** Mines transactions together in one block. Returns the block's hash. */
export async function mineTogether(
  { provider }: Stage,
  abi: InterfaceAbi,
  transactions: readonly Transaction[],
): Promise<Hex> {
  await provider.send('evm_setAutomine', [false]);
  try {
    const sent = [];
    for (const { signer, to, method, args } of transactions) {
      sent.push(await new Contract(to, abi, signer).getFunction(method).send(...args, { gasLimit: 400_000 }));
    }
    await provider.send('anvil_mine', []);
    const blocks = new Set<string | null>();
    for (const { hash } of sent) {
      await until(`${hash} is mined`, async () => (await provider.getTransactionReceipt(hash)) !== null);
      blocks.add((await provider.getTransactionReceipt(hash))?.blockHash ?? null);
    }
    const [block, ...more] = blocks;
    if (typeof block !== 'string' || more.length > 0) throw new Error(`mined in ${blocks.size} blocks`);
    return block as Hex;
  } finally {
    await provider.send('evm_setAutomine', [true]);
  }
}
