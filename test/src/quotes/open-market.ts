import { setTimeout as delay } from 'node:timers/promises';
import { deployArtifacts, type UnsignedSwapCall } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { StackFile } from '@makerbook/local-stack';
import { Contract, Interface, JsonRpcProvider, MaxUint256, type TransactionResponse, toBeHex, Wallet } from 'ethers';
import { giveCoins } from '../kit/give-coins.js';

/** The outcome of a call to the Navigator: the output, or the named error with its arguments. */
export type Swapped = { readonly output: bigint } | { readonly error: string; readonly args: readonly unknown[] };

export type Market = Awaited<ReturnType<typeof openMarket>>;

const FAR_DEADLINE = 4_000_000_000n;
const GAS = 3_000_000;
const RECIPIENT: Address = '0x00000000000000000000000000000000000ee001';

/**
 * Opens a trader on the chain that holds the second token of the first pool and has approved the Navigator for it.
 * @throws Error if the chain does not answer or gives no coins away
 */
export async function openMarket({ rpcUrl, navigator, pools }: StackFile) {
  const provider = new JsonRpcProvider(rpcUrl, undefined, {
    cacheTimeout: -1,
    pollingInterval: 100,
    batchMaxCount: 200,
  });
  const trader = Wallet.createRandom(provider);
  await giveCoins(provider, trader.address, '100');
  const [first, second] = pools;
  const [middle, tokenIn] = first?.tokens ?? [];
  if (first === undefined || second === undefined || tokenIn === undefined || middle === undefined) {
    throw new Error('a market needs two pools');
  }
  const last = second.tokens[second.tokens[0] === middle ? 1 : 0];
  const spent = new Contract(tokenIn, deployArtifacts.TestToken.abi, trader);
  for (const [method, ...args] of [
    ['mint', trader.address, 10n ** 30n],
    ['approve', navigator, MaxUint256],
  ] as const) {
    const { hash }: TransactionResponse = await spent.getFunction(method).send(...args);
    // `wait` may look just before the block is there, and then looks again only with the next one.
    while ((await provider.getTransactionReceipt(hash)) === null) await delay(20);
  }
  const address = (text: string) => text.toLowerCase() as Address;
  const recipientOf = (quote: UnsignedSwapCall) => (quote.version === 'v1' ? quote.recipient : address(trader.address));
  const balanceOf = (token: string, holder: string): Promise<bigint> =>
    new Contract(token, deployArtifacts.TestToken.abi, provider).getFunction('balanceOf')(holder);

  return {
    trader,
    /** A quote for the trader's tokens, through the first pool or the first two. Its minimum is 1. */
    quote(version: 'v0' | 'v1', hops: 1 | 2, amountIn: bigint): UnsignedSwapCall {
      const route = hops === 1 ? [first.address] : [first.address, second.address];
      const common = {
        tokenIn: address(tokenIn),
        amountIn,
        tokenOut: address(hops === 1 ? middle : last),
        deadline: FAR_DEADLINE,
        pools: route.map(address),
        minOutput: 1n,
      };
      if (version === 'v0') return { version, ...common };
      return { version, quoteId: 77n, recipient: RECIPIENT, ...common };
    },

    /** What the pools of the quote would give now. */
    async outputOf({ tokenIn, amountIn, pools: route }: UnsignedSwapCall): Promise<bigint> {
      let [token, amount] = [tokenIn as string, amountIn];
      for (const pool of route) {
        const pair = pools.find((known) => known.address === pool)?.tokens;
        if (pair === undefined) throw new Error(`no pool ${pool}`);
        const quoted = new Contract(pool, deployArtifacts.TestPool.abi, provider).getFunction('quote');
        amount = (await quoted(token, amount)) as bigint;
        token = address(pair[0]) === address(token) ? pair[1] : pair[0];
      }
      return amount;
    },

    /** Sends the call as a transaction and waits for it: `output` is what the recipient gained. */
    async execute(data: Hex, quote: UnsignedSwapCall): Promise<Swapped> {
      const before = await balanceOf(quote.tokenOut, recipientOf(quote));
      const sent = await trader.sendTransaction({ to: navigator, data, gasLimit: GAS });
      const receipt = await provider.waitForTransaction(sent.hash, 1, 60_000);
      if (receipt?.status === 1) return { output: (await balanceOf(quote.tokenOut, recipientOf(quote))) - before };
      // A receipt does not say why its transaction reverted. The same call at the block before says it.
      const block = toBeHex((receipt?.blockNumber ?? 1) - 1).replace(/^0x0+(?=.)/, '0x');
      return provider
        .send('eth_call', [{ from: trader.address, to: navigator, data, gas: toBeHex(GAS) }, block])
        .then(() => ({ error: 'reverted for no reason to be seen', args: [] }), explain);
    },
    stop: () => provider.destroy(),
  };
}

const errors = new Interface(
  [deployArtifacts.Navigator, deployArtifacts.TestPool, deployArtifacts.TestToken].flatMap(({ abi }) =>
    abi.filter((entry) => entry.type === 'error'),
  ),
);

function explain(failure: unknown): Swapped {
  const { data, error } = failure as { data?: unknown; error?: { data?: unknown; message?: string } };
  const hex = typeof data === 'string' ? data : error?.data;
  const parsed = typeof hex === 'string' ? errors.parseError(hex) : null;
  if (parsed === null) return { error: error?.message ?? String(failure), args: [] };
  return { error: parsed.name, args: parsed.args.toArray() };
}
