/**
 * Sends fills to the chain for the adapters beside it. Replace it with your own executor. It uses the `OrderFiller`
 * that ORDER_FILLER names, or the stack's, or deploys one. On the local chain it mints the tokens that it pays with.
 */
import { existsSync, readFileSync } from 'node:fs';
import { Contract, ContractFactory, JsonRpcProvider, MaxUint256, Wallet } from 'ethers';

export interface Stack {
  readonly baseUrl: string;
  readonly rpcUrl: string;
  readonly limitOrderProtocol: string;
  /** Empty or missing if the stack has deployed no contracts. */
  readonly orderFiller?: string;
  readonly tokens: readonly [{ readonly address: string }, { readonly address: string }];
}

export function readStack(): Stack {
  const file = `${process.env['MAKERBOOK_DATA'] ?? '.local'}/stack.json`;
  if (!existsSync(file)) throw new Error(`no stack runs here (${file} is missing): start it with \`npm start\``);
  return JSON.parse(readFileSync(file, 'utf8'));
}

// Account 2 of anvil: everyone has its key.
const key = process.env['TAKER_KEY'] ?? '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a';
// An error of a library may show the key.
if (!/^0x(?!0{64}|[fF]{31})[0-9a-fA-F]{64}$/.test(key))
  throw new Error('TAKER_KEY is no private key: 0x and 64 hex digits');
const artifact = new URL('../../../contracts/evm/src/artifacts/OrderFiller.json', import.meta.url);
const TOKEN = [
  'function balanceOf(address) view returns (uint256)',
  'function approve(address, uint256)',
  'function mint(address, uint256)',
];

export async function openTaker({ rpcUrl, limitOrderProtocol, orderFiller }: Stack, tokenIn: string, tokenOut: string) {
  const provider = new JsonRpcProvider(rpcUrl, undefined, { cacheTimeout: -1, pollingInterval: 200 });
  const wallet = new Wallet(key, provider);
  const { abi, bytecode } = JSON.parse(readFileSync(artifact, 'utf8'));
  const deploy = async () => {
    const contract = await new ContractFactory(abi, bytecode, wallet).deploy(limitOrderProtocol);
    await contract.waitForDeployment();
    return contract.getAddress();
  };
  const filler = process.env['ORDER_FILLER'] || orderFiller || (await deploy());
  const [paid, got] = [tokenIn, tokenOut].map((token) => new Contract(token, TOKEN, wallet)) as [Contract, Contract];
  const send = async (to: string, data: string, gasLimit?: number) =>
    (await wallet.sendTransaction({ to, data, ...(gasLimit !== undefined && { gasLimit }) })).wait();
  await send(tokenIn, paid.interface.encodeFunctionData('mint', [wallet.address, 10n ** 24n]));
  await send(tokenIn, paid.interface.encodeFunctionData('approve', [filler, MaxUint256]));
  const balances = () =>
    Promise.all([paid, got].map((token): Promise<bigint> => token.getFunction('balanceOf')(wallet.address)));

  return {
    /** Sends the call of an `OrderFiller`, and returns the amounts moved. @throws if the call reverts */
    async fill({ to = filler, data = '0x', gas }: { to?: string; data?: string; gas?: number }) {
      const [inBefore = 0n, outBefore = 0n] = await balances();
      const receipt = await send(to, data, gas);
      const [inAfter = 0n, outAfter = 0n] = await balances();
      return { amountIn: inBefore - inAfter, amountOut: outAfter - outBefore, block: receipt?.blockNumber ?? 0 };
    },
    close: () => provider.destroy(),
  };
}
