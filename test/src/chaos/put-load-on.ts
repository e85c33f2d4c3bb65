import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '@makerbook/client';
import type { Chance } from '@makerbook/parts';
import { openChain, openMaker, type TestChain } from '../end-to-end/open-maker.js';
import { beginAtPace } from '../kit/generate-load.js';
import { type LoadMaker, type LoadState, openRequests } from './ask-service.js';
import type { Finding, OrderHistory } from './judge-orders.js';
import type { ChaosBed } from './open-bed.js';

/** Requests and chain moves of many makers, whatever is answered; each begins at its time, though others hang. */
export interface Load {
  readonly orders: readonly OrderHistory[];
  readonly makers: readonly LoadMaker[];
  /** What a list that does not say that it is behind lacked, or held too much. */
  readonly findings: readonly Finding[];
  /** How often each action had each outcome. */
  readonly tally: Readonly<Record<string, number>>;
  /** The last-begun request of the kind that was answered with 200, by `performance.now()`. */
  answered(kind: 'POST' | 'GET'): { readonly beganAtMs: number; readonly endedAtMs: number };
  /** Begins nothing more, and waits until every request has ended. @throws what a request threw that is no answer */
  stop(): Promise<void>;
}

const ACTIONS_PER_SECOND = 16;
/** A client gives up by then. */
const TIMEOUT_MS = 10_000;
const CHAIN_TIMEOUT_MS = 30_000;
const FUNDS = 1_000_000n;
const weights = { post: 9, postAgain: 2, cancel: 5, list: 5, move: 3 };
const moves = { spend: 4, mint: 4, approve: 3, approveNothing: 1, fill: 4, cancelOnChain: 2 };

export async function putLoadOn(bed: ChaosBed, makerCount: number, chance: Chance): Promise<Load> {
  const chain = openChain(bed.stack, false);
  const makers = await Promise.all(Array.from({ length: makerCount }, () => openLoadMaker(bed, chain)));
  const tally: Record<string, number> = {};
  const answered: Record<string, { beganAtMs: number; endedAtMs: number }> = {};
  const state: LoadState = {
    chance,
    makers,
    orders: [],
    touched: new Set(),
    findings: [],
    count(kind, outcome, beganAtMs = 0) {
      tally[`${kind} ${outcome}`] = (tally[`${kind} ${outcome}`] ?? 0) + 1;
      if (beganAtMs > (answered[kind]?.beganAtMs ?? 0)) answered[kind] = { beganAtMs, endedAtMs: performance.now() };
    },
  };
  const actions = { ...openRequests(state), move: (maker: LoadMaker) => moveOnChain(maker, state) };
  const pace = beginAtPace(ACTIONS_PER_SECOND, () =>
    actions[chance.pickWeighted(weights)](chance.pickAny(makers) as LoadMaker),
  );
  return {
    orders: state.orders,
    makers,
    findings: state.findings,
    tally,
    answered: (kind) => answered[kind] ?? { beganAtMs: 0, endedAtMs: 0 },
    async stop() {
      await pace.stop().finally(() => chain.stop());
    },
  };
}

async function openLoadMaker({ stack, baseUrl }: ChaosBed, chain: TestChain): Promise<LoadMaker> {
  const maker = await openMaker(stack, chain);
  await maker.mint(FUNDS);
  await maker.approve(FUNDS);
  const client = createClient({ ...stack.addresses, baseUrl, signer: maker.wallet, timeoutMs: TIMEOUT_MS });
  return { address: await client.maker(), maker, client, orders: [], isMoving: false };
}

/** Moves funds, fills or cancels on the chain. Some transactions fail, and some are never mined. */
async function moveOnChain(owner: LoadMaker, { chance, touched, count }: LoadState): Promise<void> {
  if (owner.isMoving) return;
  owner.isMoving = true;
  const { maker } = owner;
  const what = chance.pickWeighted(moves);
  const amount = BigInt(chance.between(1, 100));
  const order = chance.pickAny(owner.orders.filter(({ posts }) => posts.length > 0))?.signed;
  if (order !== undefined && (what === 'fill' || what === 'cancelOnChain')) touched.add(order.orderHash);
  const mined = {
    spend: () => maker.spend(amount),
    mint: () => maker.mint(amount),
    approve: () => maker.approve(chance.oneIn(3) ? amount : FUNDS),
    approveNothing: () => maker.approve(0n),
    fill: async () => order && maker.fill(order, chance.oneIn(2) ? BigInt(order.order.making.amount) : 1n),
    cancelOnChain: async () => order && maker.cancelOnChain(order),
  }[what]();
  const outcome = mined.then(
    () => 'mined',
    () => 'failed',
  );
  count('chain', await Promise.race([outcome, pause(CHAIN_TIMEOUT_MS, 'unknown', { ref: false })]));
  owner.isMoving = false;
}
