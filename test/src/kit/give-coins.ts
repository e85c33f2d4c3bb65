import { type JsonRpcProvider, parseEther, toBeHex, Wallet } from 'ethers';

const key = process.env['MAKER_KEY'];

/**
 * False if MAKER_KEY names an account that holds coins. The chain is then not for development: it gives no coins away,
 * makes no block on demand and keeps its own time.
 */
export const isDevelopmentChain = key === undefined;

let sending: Promise<unknown> = Promise.resolve();

/** Gives an account coins for gas. If the chain is not for development, the account of MAKER_KEY pays them. */
export async function giveCoins(provider: JsonRpcProvider, address: string, coins = '10'): Promise<void> {
  const value = parseEther(coins);
  if (key === undefined) {
    await provider.send('anvil_setBalance', [address, toBeHex(value)]);
    return;
  }
  const payer = new Wallet(key.trim(), provider);
  // Send one after the other, so that no two take the same nonce.
  const sent = sending.then(async () => {
    const nonce = await payer.getNonce('pending');
    return payer.sendTransaction({ to: address, value, nonce });
  });
  sending = sent.catch(() => undefined);
  await (await sent).wait(1, 60_000);
}
