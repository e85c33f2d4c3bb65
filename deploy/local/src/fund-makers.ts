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
/** Amount of each token that a maker gets, in whole tokens. */
const MAKER_FUNDS = 1_000_000n;
/** Nobody can estimate the gas of a call that is sent before the calls that it builds on are mined. */
const CALL_GAS = 300_000;

export type DeployedToken = { readonly symbol: string; readonly address: string; readonly decimals: number };

export type Call = { readonly to: string; readonly data: string };

export const mintable = new Interface(deployArtifacts.TestToken.abi);

/** Opens the chain of a stack, without asking the node for its chain id: a call fails at once if the node is down. */
export function openChain({ rpcUrl, chainId }: { readonly rpcUrl: string; readonly chainId: number }) {
  return new JsonRpcProvider(rpcUrl, chainId, { staticNetwork: true, cacheTimeout: -1, pollingInterval: 200 });
}

/** Mints tokens for a maker and approves the protocol, unless the maker has already approved the last token. */
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

/** A quote of the book to fill. */
type QuotedFill = { readonly tokenIn: string; readonly amountIn: bigint; readonly data: string };

/**
 * Fills a quote from an account of its own, after minting the tokens to pay with. @returns the block of the fill
 * @throws Error if the fill is reverted
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

/** Gives an account coins, and has a development chain sign for it. */
export async function impersonate(provider: JsonRpcProvider, address: string): Promise<JsonRpcSigner> {
  await provider.send('anvil_impersonateAccount', [address]);
  await giveCoins(provider, address);
  return new JsonRpcSigner(provider, address);
}

export async function giveCoins(provider: JsonRpcProvider, address: string): Promise<void> {
  await provider.send('anvil_setBalance', [address, toBeHex(parseEther('1000'))]);
}

/** Mines a block on a chain for development. Other chains refuse, and mine by themselves. */
export async function mineNow(provider: JsonRpcProvider): Promise<void> {
  await provider.send('evm_mine', []).catch(() => undefined);
}

/** Sends all calls at once, so that they take one block or two, and waits for them. @throws Error if one is reverted */
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
