import { Interface, JsonRpcProvider, Wallet } from 'ethers';
import { eventually } from '../kit/eventually.js';

const erc20 = new Interface(['function mint(address,uint256)', 'function transfer(address,uint256)']);
const GAS = 100_000n;
/** Transactions in one request. */
const AT_ONCE = 200;
const TO = '0x00000000000000000000000000000000000ee002';

/**
 * Has the chain make a block of this many token transfers. All wait for the nonce before them, which is sent last.
 * @returns the numbers of the blocks that hold them
 */
export async function fillBlocks(rpcUrl: string, key: string, token: string, transfers: number): Promise<number[]> {
  const provider = new JsonRpcProvider(rpcUrl, undefined, {
    cacheTimeout: -1,
    pollingInterval: 200,
    batchMaxCount: AT_ONCE,
  });
  try {
    const wallet = new Wallet(key, provider);
    await (
      await wallet.sendTransaction({ to: token, data: erc20.encodeFunctionData('mint', [wallet.address, transfers]) })
    ).wait();
    const [nonce, chainId, { gasPrice }] = [
      await wallet.getNonce(),
      (await provider.getNetwork()).chainId,
      await provider.getFeeData(),
    ];
    const data = erc20.encodeFunctionData('transfer', [TO, 1]);
    const sign = (index: number) =>
      wallet.signTransaction({
        to: token,
        data,
        nonce: nonce + index,
        chainId,
        gasLimit: GAS,
        gasPrice: (gasPrice ?? 0n) * 20n,
        type: 0,
      });
    const signed: string[] = [];
    for (let index = 0; index < transfers; index += 1) signed.push(await sign(index));
    const [first = '', ...rest] = signed;
    const hashes: string[] = [];
    for (let from = 0; from < rest.length; from += AT_ONCE) {
      const part = rest.slice(from, from + AT_ONCE);
      hashes.push(...(await Promise.all(part.map((raw) => provider.send('eth_sendRawTransaction', [raw])))));
    }
    hashes.push(await provider.send('eth_sendRawTransaction', [first]));
    await eventually(() => wallet.getNonce(), nonce + transfers);
    const receipts = await Promise.all(hashes.map((hash) => provider.getTransactionReceipt(hash)));
    const failed = receipts.filter((receipt) => receipt?.status !== 1).length;
    if (failed > 0) throw new Error(`${failed} of ${transfers} transfers failed`);
    return [...new Set(receipts.map((receipt) => receipt?.blockNumber ?? 0))].sort((one, other) => one - other);
  } finally {
    provider.destroy();
  }
}
