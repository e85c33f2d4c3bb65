import { deployArtifacts } from '@makerbook/contracts-evm';
import {
  Contract,
  Interface,
  id,
  JsonRpcProvider,
  JsonRpcSigner,
  MaxUint256,
  parseEther,
  toBeHex,
  Wallet,
} from 'ethers';

const RECEIPT_TIMEOUT_MS = 60_000;
/** What a maker is given of each, in whole tokens. */
const MAKER_FUNDS = 1_000_000n;
/** They are sent before what they build on is mined, so nobody can estimate them. */
const CALL_GAS = 300_000;

export type DeployedToken = { readonly symbol: string; readonly address: string; readonly decimals: number };

export type Call = { readonly to: string; readonly data: string };

export const mintable = new Interface(deployArtifacts.TestToken.abi);

/** Opens the chain of a stack. It does not ask the node which chain it is: while that is away, a call fails at once. */
export function openChain({ rpcUrl, chainId }: { readonly rpcUrl: string; readonly chainId: number }) {
  return new JsonRpcProvider(rpcUrl, chainId, { staticNetwork: true, cacheTimeout: -1, pollingInterval: 200 });
}

/** Mints a maker tokens, and approves the protocol for it. Sends all of it where the last approval is missing. */
export async function fundMaker(
  maker: Wallet | JsonRpcSigner,
  tokens: readonly DeployedToken[],
  limitOrderProtocol: string,
): Promise<void> {
  const last = new Contract(tokens.at(-1)?.address ?? '', mintable, maker);
  if ((await last.getFunction('allowance')(maker.address, limitOrderProtocol)) > 0n) return;
  const calls = tokens.flatMap(({ address, decimals }) => [
    { to: address, data: mintable.encodeFunctionData('mint', [maker.address, MAKER_FUNDS * 10n ** BigInt(decimals)]) },
    { to: address, data: mintable.encodeFunctionData('approve', [limitOrderProtocol, MaxUint256]) },
  ]);
  await sendCalls(maker, calls);
}

/** A quote of the book that is to be filled. */
type QuotedFill = { readonly tokenIn: string; readonly amountIn: bigint; readonly data: string };

/**
 * Fills a quote from an account of its own, to which it gives what it pays with. @returns the block of the fill
 * @throws Error where the fill is reverted
 */
export async function fillFrom(
  provider: JsonRpcProvider,
  orderFiller: string,
  { tokenIn, amountIn, data }: QuotedFill,
): Promise<number> {
  const { address } = new Wallet(id('makerbook taker of the console'));
  const taker = await impersonate(provider, address);
  await sendCalls(taker, [
    { to: tokenIn, data: mintable.encodeFunctionData('mint', [address, amountIn]) },
    { to: tokenIn, data: mintable.encodeFunctionData('approve', [orderFiller, amountIn]) },
  ]);
  const receipt = await (await taker.sendTransaction({ to: orderFiller, data })).wait(1, RECEIPT_TIMEOUT_MS);
  return receipt?.blockNumber ?? 0;
}

/** An account for which a development chain signs, with coins. */
export async function impersonate(provider: JsonRpcProvider, address: string): Promise<JsonRpcSigner> {
  await provider.send('anvil_impersonateAccount', [address]);
  await giveCoins(provider, address);
  return new JsonRpcSigner(provider, address);
}

export async function giveCoins(provider: JsonRpcProvider, address: string): Promise<void> {
  await provider.send('anvil_setBalance', [address, toBeHex(parseEther('1000'))]);
}

/** Makes a block, on a chain for development. Others make theirs by themselves. */
export async function mineNow(provider: JsonRpcProvider): Promise<void> {
  await provider.send('evm_mine', []).catch(() => undefined);
}

/** Sends all at once, so that it takes one block or two, and waits for it. @throws Error where one is reverted */
export async function sendCalls(sender: Wallet | JsonRpcSigner, calls: readonly Call[]): Promise<void> {
  if (calls.length === 0) return;
  const firstNonce = await sender.getNonce();
  const sent = [];
  for (const [index, call] of calls.entries()) {
    sent.push(await sender.sendTransaction({ ...call, gasLimit: CALL_GAS, nonce: firstNonce + index }));
  }
  await mineNow(sender.provider as JsonRpcProvider);
  for (const transaction of sent) {
    const receipt = await transaction.wait(1, RECEIPT_TIMEOUT_MS);
    if (receipt?.status !== 1) throw new Error(`transaction ${transaction.hash} was reverted`);
  }
}
