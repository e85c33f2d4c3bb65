import { type JsonRpcProvider, parseEther, toBeHex, Wallet } from 'ethers';

const key = process.env['MAKER_KEY'];

/**
 * False where MAKER_KEY names an account that holds coins: the chain is none for development then, gives no coins away,
 * makes no block on demand and keeps its own time.
 */
export const isDevelopmentChain = key === undefined;

let sending: Promise<unknown> = Promise.resolve();

/** Gives an account coins for gas, on a chain that is none for development from the account of MAKER_KEY. */
export async function giveCoins(provider: JsonRpcProvider, address: string, coins = '10'): Promise<void> {
  const value = parseEther(coins);
  if (key === undefined) {
    await provider.send('anvil_setBalance', [address, toBeHex(value)]);
    return;
  }
  const payer = new Wallet(key.trim(), provider);
  // One after the other, so that no two take the same nonce.
  const sent = sending.then(async () => {
    const nonce = await payer.getNonce('pending');
    return payer.sendTransaction({ to: address, value, nonce });
  });
  sending = sent.catch(() => undefined);
  await (await sent).wait(1, 60_000);
}
