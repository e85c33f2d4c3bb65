import { type Address, deployArtifacts, type Hex } from '@makerbook/contracts-evm';
import { Contract, type InterfaceAbi, type NonceManager } from 'ethers';
import type { Watcher } from '../run.js';
import { addressOf, type FoldedOrder, type SignedOrder, type Stage, until } from './stage-chain.js';

const ERC20 = deployArtifacts.TestToken.abi;
const WRAPPED = deployArtifacts.WrappedNative.abi;
const PROTOCOL = deployArtifacts.LimitOrderProtocol.abi;
const GAS = { gasLimit: 500_000 };

export interface SimulationOptions {
  readonly seed: number;
  readonly rounds: number;
  readonly makers: number;
  readonly actionsMax: number;
}

/** What a simulation did, by action; so that nobody takes an idle run for a good one. */
export type Tally = Record<string, number>;

/**
 * Random chain actions of many makers in blocks of random size, orders posted in between, watchers stopped and started
 * at random. After every round each order's state by the log is compared with one computed straight from the chain.
 * @throws Error that names the seed, the round, and each order that differs
 */
export async function simulateChain(stage: Stage, options: SimulationOptions): Promise<Tally> {
  const chance = createChance(options.seed);
  const tally: Tally = {};
  const count = (what: string) => {
    tally[what] = (tally[what] ?? 0) + 1;
  };
  const tokens: Address[] = [
    await stage.deploy(deployArtifacts.TestToken, 'One', 'ONE', 18),
    await stage.deploy(deployArtifacts.TestToken, 'Two', 'TWO', 18),
    await stage.deploy(deployArtifacts.WrappedNative, 'Wrapped', 'WRP'),
    await stage.deploy(deployArtifacts.FeeOnTransferToken, 'Fee', 'FEE', 18),
  ];
  const wrapped = tokens[2];
  const makers: NonceManager[] = [];
  for (let n = 0; n < options.makers; n += 1) makers.push(await stage.createAccount());
  const { taker } = stage;
  for (const token of tokens) {
    await stage.send(taker, token, ERC20, 'mint', addressOf(taker), 10n ** 24n);
    await stage.send(taker, token, ERC20, 'approve', stage.protocolAddress, 10n ** 30n);
  }
  const posted: SignedOrder[] = [];
  const unposted: SignedOrder[] = [];
  const cancelledByMaker = new Set<Hex>();
  /** Signed with a nonce above the chain's: removed for good unless the chain gets there with the next block. */
  const ahead = new Set<Hex>();
  const watchers: Watcher[] = [await stage.watch()];

  /** Sends without waiting: some of them revert, which is as good as any. */
  const send = async (
    signer: NonceManager,
    address: Address,
    abi: InterfaceAbi,
    method: string,
    ...args: unknown[]
  ) => {
    await new Contract(address, abi, signer).getFunction(method).send(...args, GAS);
  };
  const act = async () => {
    const maker = chance.pick(makers);
    const token = chance.pick(tokens);
    const amount = BigInt(chance.below(250));
    const order = chance.pick(chance.below(2) === 0 && unposted.length > 0 ? unposted : posted);
    const actions: Record<string, () => Promise<void>> = {
      mint: () => send(taker, token, ERC20, 'mint', addressOf(maker), amount),
      transferOut: () => send(maker, token, ERC20, 'transfer', addressOf(taker), amount / 4n),
      transferAmongMakers: () => send(maker, token, ERC20, 'transfer', addressOf(chance.pick(makers)), amount / 6n),
      approve: () => send(maker, token, ERC20, 'approve', stage.protocolAddress, amount * BigInt(1 + chance.below(9))),
      deposit: async () => {
        if (wrapped !== undefined) await maker.sendTransaction({ to: wrapped, value: amount, ...GAS });
      },
      withdraw: () => send(maker, wrapped ?? token, WRAPPED, 'withdraw', amount / 6n),
      fill: async () => {
        if (order === undefined) return;
        const part = chance.below(3) === 0 ? order.order.making.amount : BigInt(1 + chance.below(30));
        const args = [order.order, order.signature, part, 10n ** 30n];
        await send(taker, stage.protocolAddress, PROTOCOL, 'fillOrder', ...args);
      },
      cancel: async () => {
        const signer = makers.find((each) => order !== undefined && addressOf(each) === order.order.maker);
        if (signer !== undefined && order !== undefined && chance.below(2) === 0) {
          await send(signer, stage.protocolAddress, PROTOCOL, 'cancelOrder', order.order);
        }
      },
      cancelAll: async () => {
        if (chance.below(12) === 0) await send(maker, stage.protocolAddress, PROTOCOL, 'cancelAllOrders');
      },
    };
    const name = chance.pick(Object.keys(actions)) ?? 'mint';
    count(name);
    await actions[name]?.();
  };
  const post = async () => {
    const maker = chance.pick(makers);
    const timestamp = (await stage.provider.getBlock('latest'))?.timestamp ?? 0;
    const nonce: bigint = await stage.read(stage.protocolAddress, PROTOCOL, 'nonce', addressOf(maker));
    const making = chance.pick(tokens);
    const signed = await stage.sign(maker, {
      making: { token: making, amount: BigInt(1 + chance.below(100)) },
      taking: { token: chance.pick(tokens.filter((token) => token !== making)), amount: BigInt(1 + chance.below(100)) },
      nonce: chance.below(15) === 0 ? nonce + 1n : nonce,
      expiresAt: BigInt(timestamp + 1 + chance.below(4000)),
    });
    if (signed.order.nonce > nonce) ahead.add(signed.orderHash);
    if (chance.below(3) === 0) {
      unposted.push(signed);
      return count('sign');
    }
    posted.push(signed);
    count('post');
    // Accepted before the block that decides about a nonce ahead of the chain's.
    await stage.submit(signed, timestamp * 1000);
  };
  const occasionally = async () => {
    const what = chance.below(12);
    if (what === 0 || what > 9) {
      count('postLate');
      const late = unposted.splice(chance.below(Math.max(1, unposted.length)), 1)[0];
      if (late === undefined) return;
      posted.push(late);
      await stage.submit(late);
    } else if (what === 1) {
      const order = chance.pick(posted);
      if (order === undefined) return;
      count('cancelByMaker');
      cancelledByMaker.add(order.orderHash);
      const { maker } = order.order;
      const cause = { kind: 'request', requestId: 'simulation' } as const;
      await stage.append({ type: 'OrderCancelled', maker, orderHash: order.orderHash, cause });
    } else if (what === 2 && watchers.length < 3) {
      count('startWatcher');
      watchers.push(await stage.watch({ CATCH_UP_BLOCKS_MAX: String(1 + chance.below(20)) }));
    } else if (what === 3 || what === 4) {
      count('stopWatcher');
      await watchers.splice(chance.below(watchers.length), 1)[0]?.stop();
    } else if (what === 5) {
      count('warp');
      await stage.provider.send('evm_increaseTime', [chance.below(900)]);
    }
  };

  try {
    for (let round = 1; round <= options.rounds; round += 1) {
      await stage.provider.send('evm_setAutomine', [false]);
      for (let blocks = 1 + chance.below(4); blocks > 0; blocks -= 1) {
        for (let actions = chance.below(options.actionsMax + 1); actions > 0; actions -= 1) await act();
        for (let posts = chance.below(3); posts > 0; posts -= 1) await post();
        await occasionally();
        await stage.mine();
      }
      if (chance.below(6) === 0) await stage.mine(25);
      await stage.provider.send('evm_setAutomine', [true]);
      if (watchers.length === 0) watchers.push(await stage.watch({ CATCH_UP_BLOCKS_MAX: '1' }));
      await stage.settled();
      await until('every order is read', () =>
        posted.every(({ orderHash }) => ahead.has(orderHash) || stage.state(orderHash)?.status !== 'VALIDATING'),
      );
      await stage.mine();
      await stage.settled();
      await compare(stage, posted, cancelledByMaker, ahead, `seed ${options.seed}, round ${round}`);
      count('comparedRounds');
    }
    return tally;
  } finally {
    for (const watcher of watchers) await watcher.stop();
  }
}

/** Waits until the log says of every order what the chain says; orders posted last may still be under way. */
async function compare(
  stage: Stage,
  posted: readonly SignedOrder[],
  cancelledByMaker: ReadonlySet<Hex>,
  ahead: ReadonlySet<Hex>,
  where: string,
): Promise<void> {
  const block = await stage.provider.getBlock('latest');
  if (block === null) throw new Error('no newest block');
  const expected = new Map<Hex, string>();
  for (const signed of posted) expected.set(signed.orderHash, await judgeFromChain(stage, signed, block.timestamp));
  /** Also of pairs whose state does not hang on it now: a value that is stale will matter some day. */
  const held = new Map<string, string>();
  for (const { order } of posted) {
    const { maker } = order;
    const { token } = order.making;
    if (held.has(`${maker} ${token}`)) continue;
    const allowance = await stage.read(token, ERC20, 'allowance', maker, stage.protocolAddress);
    held.set(`${maker} ${token}`, `${allowance} ${await stage.read(token, ERC20, 'balanceOf', maker)}`);
  }
  let differences: string[] = [];
  const holds = () => {
    differences = [];
    for (const { orderHash, order } of posted) {
      const { maker } = order;
      const { token } = order.making;
      const known = stage.funding(maker, token);
      const funds = `${known?.allowance?.value} ${known?.balance?.value}`;
      if (known !== undefined && funds !== held.get(`${maker} ${token}`)) {
        differences.push(`${maker} ${token}: the log knows ${funds}, the chain ${held.get(`${maker} ${token}`)}`);
      }
      const actual = describe(stage.state(orderHash), stage.remaining(orderHash));
      const wanted = expected.get(orderHash);
      // What removed an order first is a matter of order in the log; that it is gone is not.
      const isGone = actual === 'REMOVED' && (cancelledByMaker.has(orderHash) || ahead.has(orderHash));
      const isRight = isGone || (actual === wanted && !cancelledByMaker.has(orderHash));
      if (!isRight) differences.push(`${orderHash}: the log says ${actual}, the chain ${wanted}`);
    }
    return differences.length === 0;
  };
  await until(`${where}: log and chain agree`, holds).catch((error: Error) => {
    throw new Error(`${error.message}\n${differences.join('\n')}`);
  });
}

/** The order's state from the contracts alone, by the rules of Interface 2.4. */
async function judgeFromChain(stage: Stage, { order, orderHash }: SignedOrder, timestamp: number): Promise<string> {
  const { token, amount } = order.making;
  const protocol = stage.protocolAddress;
  const filled: bigint = await stage.read(protocol, PROTOCOL, 'filled', orderHash);
  const isCancelled: boolean = await stage.read(protocol, PROTOCOL, 'cancelled', orderHash);
  const nonce: bigint = await stage.read(protocol, PROTOCOL, 'nonce', order.maker);
  if (isCancelled || filled >= amount || nonce !== order.nonce || BigInt(timestamp) >= order.expiresAt)
    return 'REMOVED';
  const allowance: bigint = await stage.read(token, ERC20, 'allowance', order.maker, protocol);
  const balance: bigint = await stage.read(token, ERC20, 'balanceOf', order.maker);
  const remaining = amount - filled;
  if (allowance < remaining) return `INSUFFICIENT_ALLOWANCE ${remaining}`;
  return balance < remaining ? `INSUFFICIENT_BALANCE ${remaining}` : `ACTIVE ${remaining}`;
}

function describe(state: FoldedOrder, remaining: bigint | undefined): string {
  if (state === undefined) return 'UNKNOWN';
  if (state.status === 'REMOVED') return 'REMOVED';
  return `${state.status === 'INACTIVE' ? state.reason : state.status} ${remaining}`;
}

/** The same numbers for the same seed (mulberry32). */
function createChance(seed: number) {
  let state = seed >>> 0;
  const below = (end: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % end;
  };
  function pick<T>(list: readonly [T, ...T[]]): T;
  function pick<T>(list: readonly T[]): T;
  function pick<T>(list: readonly T[]): T {
    return list[below(Math.max(1, list.length))] as T;
  }
  return { below, pick };
}
