import type { SignedOrder } from '@makerbook/client';
import { Interface } from 'ethers';
import type { Chain, Head } from './drive-chain.js';

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
  /** The chain's newest block when POST had answered 200; undefined before. */
  acceptedAtBlock: number | undefined;
  /** The last compared block before that. */
  comparedBeforeBlock: number;
  /** DELETE answered CANCELLED. */
  isDeleted: boolean;
  /** DELETE answered NOT_FOUND while this was the newest block: the order must be gone at the next comparison. */
  wasDenied: boolean;
  /** It stood in a comparison, which found it open. */
  wasOpen: boolean;
  /** A comparison found it gone: it never comes back. */
  isGone: boolean;
}

/** What the contracts say at one block. A token that does not answer with a word counts as zero (Interface 2.4). */
export interface ChainState {
  /** That block. */
  readonly head: Head;
  nonce(maker: string): bigint;
  balance(maker: string, token: string): bigint;
  allowance(maker: string, token: string): bigint;
  filled(orderHash: string): bigint;
  isCancelled(orderHash: string): boolean;
  /** Whether the maker's nonce was below this one at a block of the range that was asked for. */
  wasBelow(order: TrackedOrder): boolean;
}

/** What may be said of an order: more than one thing only while its nonce is ahead of the chain's. */
export interface Verdict {
  /** `gone`, or status or reason, and what remains: `ACTIVE 7`, `INSUFFICIENT_BALANCE 7`. */
  readonly allowed: readonly string[];
  /** Why it may be gone. */
  readonly reasons: ReadonlySet<string>;
  /** Whether the router's feed may hold it: it drops an order 60 s before it expires. */
  readonly isRoutable: boolean;
}

const GRACE_SECONDS = 60;
/** A longer answer is taken for none: Multicall3 of `contracts/evm` does not copy it. */
const ANSWER_BYTES_MAX = 4096;
const CALL_GAS = '0x989680';
const abi = new Interface([
  'function nonce(address) view returns (uint256)',
  'function filled(bytes32) view returns (uint256)',
  'function cancelled(bytes32) view returns (bool)',
  'function balanceOf(address) view returns (uint256)',
  'function allowance(address, address) view returns (uint256)',
]);

/** Asks the contracts one by one, at one block: no Multicall, no events, nothing that was known before. */
export async function readChain(
  chain: Chain,
  protocol: string,
  head: Head,
  { makers, tokens, orders }: { makers: readonly string[]; tokens: readonly string[]; orders: readonly TrackedOrder[] },
): Promise<ChainState> {
  const wanted = new Map<string, { to: string; data: string; block: number }>();
  const ask = (to: string, method: string, args: readonly string[], block = head.number) => {
    wanted.set(keyOf(to, method, args, block), { to, data: abi.encodeFunctionData(method, args), block });
  };
  for (const maker of makers) {
    ask(protocol, 'nonce', [maker]);
    for (const token of tokens) {
      ask(token, 'balanceOf', [maker]);
      ask(token, 'allowance', [maker, protocol]);
    }
  }
  for (const { signed } of orders) {
    ask(protocol, 'filled', [signed.orderHash]);
    ask(protocol, 'cancelled', [signed.orderHash]);
  }
  for (const order of orders) {
    if (order.wasOpen) continue;
    for (let block = order.comparedBeforeBlock; block < head.number; block += 1)
      ask(protocol, 'nonce', [order.maker], block);
  }
  const calls = [...wanted.values()].map(({ to, data, block }) => ({
    method: 'eth_call',
    params: [{ to, data, gas: CALL_GAS }, `0x${block.toString(16)}`],
  }));
  const answers = await chain.askAll(calls);
  const values = new Map([...wanted.keys()].map((key, index) => [key, firstWord(answers[index])]));
  const wordOf = (to: string, method: string, args: readonly string[], block = head.number): bigint => {
    const value = values.get(keyOf(to, method, args, block));
    if (value === undefined) throw new Error(`${method} of ${to} was not asked for at block ${block}`);
    return value;
  };
  return {
    head,
    nonce: (maker) => wordOf(protocol, 'nonce', [maker]),
    balance: (maker, token) => wordOf(token, 'balanceOf', [maker]),
    allowance: (maker, token) => wordOf(token, 'allowance', [maker, protocol]),
    filled: (orderHash) => wordOf(protocol, 'filled', [orderHash]),
    isCancelled: (orderHash) => wordOf(protocol, 'cancelled', [orderHash]) !== 0n,
    wasBelow({ maker, nonce, comparedBeforeBlock }) {
      for (let block = comparedBeforeBlock; block <= head.number; block += 1)
        if (wordOf(protocol, 'nonce', [maker], block) < nonce) return true;
      return false;
    },
  };
}

/** The order's state by the rules of Interface 2.4 and 3, from the chain and what the maker asked of the service. */
export function judgeOrder(order: TrackedOrder, state: ChainState): Verdict {
  const { signed, maker, token, amount, expiresAt } = order;
  const { timestamp, number } = state.head;
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
  // Ahead of the chain's nonce: it waits for the block after the one that was newest when it was accepted.
  const mayBeGone = !order.wasOpen && state.wasBelow(order);
  if (mayBeGone) reasons.add('NONCE_CHANGED');
  if (isGone) return { allowed: ['gone'], reasons, isRoutable: false };

  const remaining = amount - filled;
  if (nonce < order.nonce) {
    const hadItsBlock = number >= (order.acceptedAtBlock ?? number) + 2;
    const allowed = hadItsBlock ? ['gone'] : ['gone', `VALIDATING ${remaining}`];
    return { allowed, reasons, isRoutable };
  }
  const funds = judgeFunds(remaining, state.allowance(maker, token), state.balance(maker, token));
  return { allowed: [`${funds} ${remaining}`, ...(mayBeGone ? ['gone'] : [])], reasons, isRoutable };
}

function judgeFunds(remaining: bigint, allowance: bigint, balance: bigint): string {
  if (allowance < remaining) return 'INSUFFICIENT_ALLOWANCE';
  return balance < remaining ? 'INSUFFICIENT_BALANCE' : 'ACTIVE';
}

function firstWord(answer: unknown): bigint {
  if (typeof answer !== 'string' || answer.length < 66 || answer.length > 2 + 2 * ANSWER_BYTES_MAX) return 0n;
  return BigInt(answer.slice(0, 66));
}

function keyOf(to: string, method: string, args: readonly string[], block: number): string {
  return `${to} ${method} ${args.join()} ${block}`;
}
