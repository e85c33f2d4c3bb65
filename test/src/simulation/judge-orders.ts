import type { SignedOrder } from '@makerbook/client';
import type { Head } from './drive-chain.js';
import type { Contracts } from './read-contracts.js';

/** An order that the simulation signed, and what it knows of it beside what the chain says. */
export interface TrackedOrder {
  readonly label: string;
  readonly signed: SignedOrder;
  readonly maker: string;
  /** What it sells. */
  readonly token: string;
  readonly amount: bigint;
  readonly nonce: bigint;
  /** Seconds. */
  readonly expiresAt: number;
  /** The last compared block before POST answered 200. */
  comparedBeforeBlock: number;
  /** DELETE answered CANCELLED. */
  isDeleted: boolean;
  /** DELETE answered NOT_FOUND while this was the newest block: the order must be gone at the next comparison. */
  wasDenied: boolean;
  /** It stood in a comparison, which found it open. */
  wasOpen: boolean;
  /** The last comparison found it ACTIVE. */
  wasActive: boolean;
  /** A comparison found it gone: it never comes back. */
  isGone: boolean;
  /** How many of the feed's messages about it were held to the chain. */
  messagesChecked: number;
}

/** What the contracts say at one block. */
export interface ChainState {
  /** That block. */
  readonly head: Head;
  nonce(maker: string): bigint;
  balance(maker: string, token: string): bigint;
  allowance(maker: string, token: string): bigint;
  filled(orderHash: string): bigint;
  isCancelled(orderHash: string): boolean;
  /** Whether the nonce of an order that is new was ahead of the maker's at a block since the last comparison. */
  wasAhead(order: TrackedOrder): boolean;
}

/** What an order may be: more than one thing only where its nonce was ahead of the chain's for a while. */
export interface Verdict {
  /** `gone`, or status or reason, and what remains: `ACTIVE 7`, `INSUFFICIENT_BALANCE 7`. */
  readonly allowed: readonly string[];
  /** Why it may be gone. */
  readonly reasons: ReadonlySet<string>;
  /** Whether the router's feed may hold it: it drops an order 60 s before it expires. */
  readonly isRoutable: boolean;
}

/** The router's feed drops an order so long before it expires. */
export const GRACE_SECONDS = 60;

/** Asks for all that judging these orders takes, at one block. */
export async function readChain(
  contracts: Contracts,
  head: Head,
  { makers, tokens, orders }: { makers: readonly string[]; tokens: readonly string[]; orders: readonly TrackedOrder[] },
): Promise<ChainState> {
  const { number } = head;
  const nonces = new Map<string, bigint>();
  const funds = new Map<string, { readonly balance: bigint; readonly allowance: bigint }>();
  const filled = new Map<string, bigint>();
  const cancelled = new Set<string>();
  const ahead = new Set<TrackedOrder>();
  await Promise.all([
    ...makers.map(async (maker) => nonces.set(maker, await contracts.nonce(maker, number))),
    ...makers.flatMap((maker) =>
      tokens.map(async (token) => {
        const [balance, allowance] = await Promise.all([
          contracts.balance(maker, token, number),
          contracts.allowance(maker, token, number),
        ]);
        funds.set(`${maker} ${token}`, { balance, allowance });
      }),
    ),
    ...orders.map(async ({ signed: { orderHash } }) => {
      filled.set(orderHash, await contracts.filled(orderHash, number));
      if (await contracts.isCancelled(orderHash, number)) cancelled.add(orderHash);
    }),
    ...orders.map(async (order) => {
      if (order.wasOpen) return;
      const blocks = Array.from({ length: number + 1 - order.comparedBeforeBlock }, (_, index) => number - index);
      const nonces = await Promise.all(blocks.map((block) => contracts.nonce(order.maker, block)));
      if (nonces.some((nonce) => nonce < order.nonce)) ahead.add(order);
    }),
  ]);
  return {
    head,
    nonce: (maker) => answered(nonces.get(maker)),
    balance: (maker, token) => answered(funds.get(`${maker} ${token}`)).balance,
    allowance: (maker, token) => answered(funds.get(`${maker} ${token}`)).allowance,
    filled: (orderHash) => answered(filled.get(orderHash)),
    isCancelled: (orderHash) => cancelled.has(orderHash),
    wasAhead: (order) => ahead.has(order),
  };
}

/** The order's state by the rules of the interface, from the chain and what the maker asked of the service. */
export function judgeOrder(order: TrackedOrder, state: ChainState): Verdict {
  const { signed, maker, token, amount, expiresAt } = order;
  const { timestamp } = state.head;
  const filled = state.filled(signed.orderHash);
  const nonce = state.nonce(maker);
  const isRoutable = timestamp < expiresAt - GRACE_SECONDS;
  const reasons = new Set<string>();
  if (order.isDeleted) reasons.add('CANCELLED');
  if (state.isCancelled(signed.orderHash)) reasons.add('CANCELLED_ONCHAIN');
  if (filled >= amount) reasons.add('FILLED');
  if (nonce > order.nonce) reasons.add('NONCE_CHANGED');
  if (timestamp >= expiresAt) reasons.add('EXPIRED');
  const isGone = reasons.size > 0;
  // Ahead of the chain's nonce when it was read: then it is removed, for this chain's blocks are all newer than any order.
  const mayBeGone = !order.wasOpen && state.wasAhead(order);
  if (mayBeGone) reasons.add('NONCE_CHANGED');
  if (isGone) return { allowed: ['gone'], reasons, isRoutable: false };
  if (nonce < order.nonce) return { allowed: ['gone'], reasons, isRoutable };

  const remaining = amount - filled;
  const funds = judgeFunds(remaining, state.allowance(maker, token), state.balance(maker, token));
  return { allowed: [`${funds} ${remaining}`, ...(mayBeGone ? ['gone'] : [])], reasons, isRoutable };
}

function judgeFunds(remaining: bigint, allowance: bigint, balance: bigint): string {
  if (allowance < remaining) return 'INSUFFICIENT_ALLOWANCE';
  return balance < remaining ? 'INSUFFICIENT_BALANCE' : 'ACTIVE';
}

function answered<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('the chain was not asked for this');
  return value;
}
