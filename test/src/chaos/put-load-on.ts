import { setTimeout as pause } from 'node:timers/promises';
import { nonceOf } from '@makerbook/chain';
import { createClient, type SignedOrder } from '@makerbook/client';
import type { Address } from '@makerbook/contracts-primitives';
import type { Chance } from '@makerbook/parts';
import { Wallet } from 'ethers';
import { eventually } from '../kit/eventually.js';
import { beginAtPace } from '../kit/generate-load.js';
import { openChain, openMakers, type TestMaker } from '../kit/open-maker.js';
import { valueAt } from '../simulation/chain/keep-chain.js';
import { drawTerms, type LoadMaker, type LoadState, openRequests, TOKENS } from './ask-service.js';
import type { OrderHistory } from './judge-orders.js';
import type { ChaosBed } from './open-bed.js';

export type Load = Awaited<ReturnType<typeof putLoadOn>>;

const ACTIONS_PER_SECOND = 16;
/** A client gives up after this time. */
const TIMEOUT_MS = 10_000;
const CHAIN_TIMEOUT_MS = 30_000;
const FUNDS = 1_000_000n;
const weights = {
  post: 18,
  postAgain: 4,
  cancel: 8,
  replace: 6,
  cap: 2,
  beat: 1,
  list: 8,
  account: 2,
  move: 6,
  spoil: 1,
};
const moves = {
  spend: 8,
  mint: 6,
  approve: 6,
  approveNothing: 2,
  fill: 8,
  cancelOnChain: 4,
  deposit: 3,
  withdraw: 4,
  cancelAll: 1,
};
const WRAPPED = TOKENS[1];

/**
 * Sends requests and chain moves of many makers, whatever is answered. Each begins when it is due, even if others hang.
 * @param isProcessed whether the service has processed a block. The load begins once the first noted block is
 * processed, so that no order is read at an earlier block
 */
export async function putLoadOn(
  bed: ChaosBed,
  makerCount: number,
  chance: Chance,
  isProcessed: (block: number) => boolean,
  actionsPerSecond = ACTIONS_PER_SECOND,
) {
  const chain = openChain(bed.stack, false);
  const makers = await Promise.all(
    (await openMakers(bed.stack, chain, makerCount)).map((maker) => openLoadMaker(bed, maker)),
  );
  const { limitOrderProtocol, tokens } = bed.stack.addresses;
  await bed.chain.note({
    protocol: limitOrderProtocol as Address,
    makers: makers.map(({ address }) => address),
    tokens: TOKENS.map((index) => tokens[index]?.address as Address),
  });
  const noted = bed.chain.head.header.number;
  await eventually(async () => isProcessed(noted), true);
  const tally: Record<string, number> = {};
  const answered: Record<string, { beganAtMs: number; endedAtMs: number }> = {};
  const state: LoadState = {
    chance,
    makers,
    orders: [],
    count(kind, outcome, beganAtMs = 0) {
      tally[`${kind} ${outcome}`] = (tally[`${kind} ${outcome}`] ?? 0) + 1;
      if (beganAtMs > (answered[kind]?.beganAtMs ?? 0)) answered[kind] = { beganAtMs, endedAtMs: performance.now() };
    },
  };
  const requests = openRequests(state);
  const actions = {
    ...requests,
    move: (maker: LoadMaker) => moveOnChain(maker, state),
    spoil: (maker: LoadMaker) => spoil(maker, state, requests.postLate),
  };
  const pace = beginAtPace(actionsPerSecond, () =>
    actions[chance.pickWeighted(weights)](chance.pickAny(makers) as LoadMaker),
  );
  return {
    orders: state.orders as readonly OrderHistory[],
    makers,
    tally,
    /** The last-begun request of the kind that was answered with 200, by `performance.now()`. */
    answered: (kind: 'POST' | 'GET') => answered[kind] ?? { beganAtMs: 0, endedAtMs: 0 },
    /** Begins nothing more, and waits until every request has ended. @throws an error of a request that is no answer */
    async stop(): Promise<void> {
      await pace.stop().finally(() => chain.stop());
    },
  };
}

async function openLoadMaker(bed: ChaosBed, maker: TestMaker): Promise<LoadMaker> {
  const { stack, baseUrl } = bed;
  for (const token of TOKENS) {
    await maker.mint(FUNDS, token);
    await maker.approve(FUNDS, token);
  }
  const service = { ...stack.addresses, baseUrl, timeoutMs: TIMEOUT_MS };
  const client = createClient({ ...service, signer: maker.wallet });
  const address = await client.maker();
  const key = Wallet.createRandom();
  const keys = [key.address];
  await client.nameCancelKeys([], { listKeys: keys, streamKeys: keys, historyKeys: keys });
  const nonce = () => valueAt(bed.chain.head, nonceOf(stack.addresses.limitOrderProtocol as Address, address));
  return {
    address,
    maker,
    client,
    reader: createClient({ ...service, signer: key, maker: address }),
    orders: [],
    nonce,
    seen: undefined,
    isMoving: false,
    instructions: [],
  };
}

/** Moves funds, fills or cancels on the chain. Some transactions fail, and some are never mined. */
async function moveOnChain(owner: LoadMaker, state: LoadState): Promise<void> {
  const { chance } = state;
  const { maker } = owner;
  if (owner.isMoving) return;
  const what = chance.pickWeighted(moves);
  const token = chance.pick(TOKENS);
  const amount = BigInt(chance.between(1, 100));
  const order = chance.pickAny(owner.orders.filter(({ posts }) => posts.length > 0))?.signed;
  const move = {
    spend: () => maker.spend(chance.oneIn(4) ? FUNDS / 2n : amount, token),
    mint: () => maker.mint(amount, token),
    deposit: () => maker.deposit(amount, WRAPPED),
    withdraw: () => maker.withdraw(amount, WRAPPED),
    approve: () => maker.approve(chance.oneIn(3) ? amount : FUNDS, token),
    approveNothing: () => maker.approve(0n, token),
    fill: async () => order && maker.fill(order, chance.oneIn(2) ? BigInt(order.order.making.amount) : 1n),
    cancelOnChain: async () => order && maker.cancelOnChain(order),
    cancelAll: maker.cancelAllOnChain,
  }[what];
  await send(owner, state, move);
}

/** Fills or cancels an order on the chain before it is posted. */
async function spoil(
  owner: LoadMaker,
  state: LoadState,
  post: (owner: LoadMaker, signed: SignedOrder) => Promise<void>,
): Promise<void> {
  const { chance } = state;
  const { maker } = owner;
  if (owner.isMoving) return;
  owner.isMoving = true;
  const terms = drawTerms(chance);
  const part = chance.pick([1n, terms.amount]);
  const isCancelled = chance.oneIn(3);
  const signed = await maker.sign({ ...terms, nonce: owner.nonce() });
  await send(owner, state, () => (isCancelled ? maker.cancelOnChain(signed) : maker.fill(signed, part)));
  await post(owner, signed);
}

async function send(owner: LoadMaker, { count }: LoadState, transact: () => Promise<unknown>): Promise<string> {
  owner.isMoving = true;
  const mined = transact().then(
    () => 'mined',
    () => 'failed',
  );
  const outcome = await Promise.race([mined, pause(CHAIN_TIMEOUT_MS, 'unknown', { ref: false })]);
  count('chain', outcome);
  owner.isMoving = false;
  return outcome;
}
