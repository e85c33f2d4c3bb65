import { deployArtifacts } from '@makerbook/contracts-evm';
import {
  Contract,
  ContractFactory,
  getCreateAddress,
  Interface,
  type InterfaceAbi,
  id,
  JsonRpcProvider,
  JsonRpcSigner,
  MaxUint256,
  parseEther,
  toBeHex,
  Wallet,
} from 'ethers';

const RECEIPT_TIMEOUT_MS = 60_000;

export type DeployOptions = {
  readonly rpcUrl: string;
  readonly serviceName: string;
  /** Addresses whose quotes the Navigator takes. Others make another Navigator. */
  readonly quoteSigners: readonly string[];
};

/** A constant-product pool that holds both tokens (TestPool): what the routes of quotes are made of. */
export type DeployedPool = { readonly address: string; readonly tokens: readonly [string, string] };

export type DeployedToken = { readonly symbol: string; readonly address: string; readonly decimals: number };

/** Addresses are lowercase hex. */
export type DeployedContracts = {
  readonly limitOrderProtocol: string;
  readonly navigator: string;
  readonly multicall: string;
  /** Fills quotes of the book; empty where none is deployed. */
  readonly orderFiller: string;
  /** Each has a public `mint(address,uint256)`. */
  readonly tokens: readonly DeployedToken[];
  /** One for USDT with each of the others. */
  readonly pools: readonly DeployedPool[];
  readonly quoteSigners: readonly string[];
};

const TOKENS = [
  { name: 'Test Tether', symbol: 'USDT', decimals: 6 },
  { name: 'Test Wrapped Ether', symbol: 'WETH', decimals: 18 },
  { name: 'Test Wrapped Bitcoin', symbol: 'WBTC', decimals: 8 },
] as const;
const NATIVE = { name: 'Test Wrapped Kaia', symbol: 'WKAIA', decimals: 18 } as const;

/**
 * Account 1 of anvil's well-known test accounts. It holds every token and has approved the protocol, so that examples can
 * place orders at once.
 */
export const EXAMPLE_MAKER = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8';
/** What a maker is given of each, in whole tokens. */
const MAKER_FUNDS = 1_000_000n;

/** What each pool is given at its start, in whole tokens: USDT first, against the tokens in their order. */
const LIQUIDITY = [
  [3_000_000, 1_000],
  [6_000_000, 100],
  [200_000, 1_000_000],
] as const;

/**
 * Deploys the contracts on a development chain, or finds them there from an earlier call with the same options.
 * The deployers' keys follow from the options and they deploy nothing else, in a fixed order, so the addresses follow
 * from the options as well: that of the Navigator from both, all others from the service name.
 * @throws Error when the chain does not answer or gives the deployer no coins (`anvil_setBalance`)
 */
export async function deployContracts(options: DeployOptions): Promise<DeployedContracts> {
  const { serviceName } = options;
  const quoteSigners = options.quoteSigners.map((address) => address.toLowerCase());
  const provider = new JsonRpcProvider(options.rpcUrl, undefined, { cacheTimeout: -1, pollingInterval: 200 });
  try {
    const deployer = new Wallet(id(`makerbook deployer of ${serviceName}`), provider);
    const creations: Creation[] = [
      { artifact: deployArtifacts.LimitOrderProtocol, args: [serviceName] },
      { artifact: deployArtifacts.Multicall3, args: [] },
      ...TOKENS.map((token) => ({
        artifact: deployArtifacts.TestToken,
        args: [token.name, token.symbol, token.decimals],
      })),
      { artifact: deployArtifacts.WrappedNative, args: [NATIVE.name, NATIVE.symbol] },
      { artifact: deployArtifacts.OrderFiller, args: [getCreateAddress({ from: deployer.address, nonce: 0 })] },
    ];
    await sendMissing(provider, deployer, creations);
    // Its signers are part of its construction: those that differ get another Navigator, and all else stays.
    const owner = new Wallet(id(`makerbook navigator of ${serviceName} for ${quoteSigners.join()}`), provider);
    const navigator = { artifact: deployArtifacts.Navigator, args: [serviceName, owner.address, quoteSigners] };
    await sendMissing(provider, owner, [navigator]);
    const [limitOrderProtocol = '', multicall = '', ...tokens] = creations.map((_, nonce) =>
      getCreateAddress({ from: deployer.address, nonce }).toLowerCase(),
    );
    const deployed = [...TOKENS, NATIVE].map(({ symbol, decimals }, index) => ({
      symbol,
      address: tokens[index] ?? '',
      decimals,
    }));
    const banker = new Wallet(id(`makerbook pools of ${serviceName}`), provider);
    await fundMaker(provider, EXAMPLE_MAKER, deployed, limitOrderProtocol);
    return {
      limitOrderProtocol,
      navigator: getCreateAddress({ from: owner.address, nonce: 0 }).toLowerCase(),
      multicall,
      orderFiller: tokens[deployed.length] ?? '',
      tokens: deployed,
      pools: await fundPools(provider, banker, deployed),
      quoteSigners,
    };
  } finally {
    provider.destroy();
  }
}

/** Makes the pools and fills them. */
async function fundPools(
  provider: JsonRpcProvider,
  banker: Wallet,
  [first, ...others]: readonly DeployedToken[],
): Promise<DeployedPool[]> {
  if (first === undefined) return [];
  const pools = others.map((token, nonce) => ({
    address: getCreateAddress({ from: banker.address, nonce }).toLowerCase(),
    tokens: [first, token] as const,
    units: LIQUIDITY[nonce] ?? [0, 0],
  }));
  await sendMissing(provider, banker, [
    ...pools.map(({ tokens }) => ({
      artifact: deployArtifacts.TestPool,
      args: tokens.map(({ address }) => address),
    })),
    ...pools.flatMap(({ address, tokens, units }) =>
      tokens.map((token, index) => ({
        to: token.address,
        data: mintable.encodeFunctionData('mint', [address, BigInt(units[index] ?? 0) * 10n ** BigInt(token.decimals)]),
      })),
    ),
    ...pools.map(({ address }) => ({ to: address, data: syncable.encodeFunctionData('sync') })),
  ]);
  return pools.map(({ address, tokens: [one, two] }) => ({ address, tokens: [one.address, two.address] }));
}

/**
 * Gives a maker coins and tokens, and approves the protocol for it: a development chain signs for anybody. Sends all of it
 * where the last approval is missing.
 */
export async function fundMaker(
  provider: JsonRpcProvider,
  address: string,
  tokens: readonly DeployedToken[],
  limitOrderProtocol: string,
): Promise<void> {
  const last = new Contract(tokens.at(-1)?.address ?? '', deployArtifacts.TestToken.abi, provider);
  if ((await last.getFunction('allowance')(address, limitOrderProtocol)) > 0n) return;
  await provider.send('anvil_impersonateAccount', [address]);
  const steps = tokens.flatMap(({ address: token, decimals }) => {
    const amount = MAKER_FUNDS * 10n ** BigInt(decimals);
    return [
      { to: token, data: mintable.encodeFunctionData('mint', [address, amount]) },
      { to: token, data: mintable.encodeFunctionData('approve', [limitOrderProtocol, MaxUint256]) },
    ];
  });
  const maker = new JsonRpcSigner(provider, address);
  await send(provider, maker, steps, await provider.getTransactionCount(address));
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
  await provider.send('anvil_impersonateAccount', [address]);
  const taker = new JsonRpcSigner(provider, address);
  const steps = [
    { to: tokenIn, data: mintable.encodeFunctionData('mint', [address, amountIn]) },
    { to: tokenIn, data: mintable.encodeFunctionData('approve', [orderFiller, amountIn]) },
  ];
  await send(provider, taker, steps, await provider.getTransactionCount(address));
  const receipt = await (await taker.sendTransaction({ to: orderFiller, data })).wait(1, RECEIPT_TIMEOUT_MS);
  return receipt?.blockNumber ?? 0;
}

const mintable = new Interface(deployArtifacts.TestToken.abi);
const syncable = new Interface(deployArtifacts.TestPool.abi);

/** A contract to be made. */
type Creation = {
  readonly artifact: { readonly abi: InterfaceAbi; readonly bytecode: string };
  readonly args: readonly unknown[];
};
type Call = { readonly to: string; readonly data: string };

/** They are sent before what they build on is mined, so nobody can estimate them. */
const CALL_GAS = 300_000;

/** Sends what is not there yet: the sender sends nothing else, so its nonce shows what is. */
async function sendMissing(
  provider: JsonRpcProvider,
  sender: Wallet,
  steps: readonly (Creation | Call)[],
): Promise<void> {
  const first = await provider.getTransactionCount(sender.address);
  await send(provider, sender, steps.slice(first), first);
}

/** Sends all at once, so that it takes one block or two, and waits for it. */
async function send(
  provider: JsonRpcProvider,
  sender: Wallet | JsonRpcSigner,
  steps: readonly (Creation | Call)[],
  firstNonce: number,
): Promise<void> {
  if (steps.length === 0) return;
  await provider.send('anvil_setBalance', [sender.address, toBeHex(parseEther('1000'))]);
  const sent = [];
  for (const [index, step] of steps.entries()) {
    const transaction =
      'to' in step
        ? { ...step, gasLimit: CALL_GAS }
        : await new ContractFactory(step.artifact.abi, step.artifact.bytecode).getDeployTransaction(...step.args);
    sent.push(await sender.sendTransaction({ ...transaction, nonce: firstNonce + index }));
  }
  // Instead of waiting for the next block; a chain that makes one for each transaction needs no order.
  await provider.send('evm_mine', []).catch(() => undefined);
  for (const transaction of sent) {
    const receipt = await transaction.wait(1, RECEIPT_TIMEOUT_MS);
    if (receipt?.status !== 1) throw new Error('a contract could not be deployed or funded');
  }
}
