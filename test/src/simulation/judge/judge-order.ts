import { allowance, balanceOf, cancelledOf, filledOf, nonceOf } from '@makerbook/chain';
import type { KnownOrder } from '@makerbook/chain-watcher/testing';
import type { Address } from '@makerbook/contracts-primitives';
import { type OpenOrder, type RemovalReason, routableUntilSeconds } from '@makerbook/domain';
import { lacksCode, refusesSignatures, type SignedOrder } from '../chain/act-on-chain.js';
import { type JudgedBlock, valueAt } from '../chain/keep-chain.js';

/** The chain that orders are compared with, and the settings that apply. */
export interface Truth {
  readonly chain: {
    readonly head: JudgedBlock;
    at(number: number): JudgedBlock;
  };
  readonly protocol: Address;
  /** Orders leave the book this many seconds before they expire. */
  readonly graceSeconds: number;
  /** Whether a token's balances change without a log. */
  isSilent(token: Address): boolean;
}

/**
 * Why an ACTIVE order could not be filled after this block, or after the newest block of its readings if that is
 * later. For a token that changes without logs, its last reading counts. Undefined if the order could be filled.
 * @param block the newest processed block
 * @param readBlock the block of the reading that made the order ACTIVE
 */
export function whyNotActive(
  signed: SignedOrder,
  { order, funding, nonce }: KnownOrder,
  { chain, protocol, graceSeconds, isSilent }: Truth,
  { block, readBlock = 0 }: { readonly block: number; readonly readBlock?: number },
): string | undefined {
  if (chain.at(block).header.timestamp >= routableUntilSeconds(order, { routingGraceSeconds: graceSeconds })) {
    return 'it was in its last seconds';
  }
  const read = funding?.known?.block ?? 0;
  const newest = Math.max(block, readBlock, read, nonce?.block ?? 0);
  const funds = chain.at(isSilent(signed.token) ? read : newest);
  const reason = whyNot(signed, order.remaining, protocol, { at: chain.at(newest), funds });
  return reason === undefined ? undefined : `at ${newest} ${reason}`;
}

/**
 * The state of an order on the chain after the block. It is `gone` if the order is no longer open.
 * @param seconds the time to judge its expiry by, the block's own if not given
 */
export function stateAt(
  signed: SignedOrder,
  protocol: Address,
  at: JudgedBlock,
  seconds = at.header.timestamp,
): string {
  const { maker, token, taking, hash, amount, nonce, expiresAt } = signed;
  const remaining = amount - valueAt(at, filledOf(protocol, hash));
  const isGone = remaining <= 0n || valueAt(at, cancelledOf(protocol, hash)) !== 0n;
  if (isGone || valueAt(at, nonceOf(protocol, maker)) !== nonce || seconds >= expiresAt) return 'gone';
  if (valueAt(at, refusesSignatures(maker)) !== 0n || valueAt(at, lacksCode(taking)) !== 0n) {
    return `VALIDATING ${remaining}`;
  }
  if (valueAt(at, allowance(token, maker, protocol)) < remaining) return `INSUFFICIENT_ALLOWANCE ${remaining}`;
  return `${valueAt(at, balanceOf(token, maker)) < remaining ? 'INSUFFICIENT_BALANCE' : 'ACTIVE'} ${remaining}`;
}

/** The state of an order in the fold, written as by `stateAt`. */
export function stateOf({ state, remaining }: OpenOrder): string {
  return `${state.status === 'INACTIVE' ? state.reason : state.status} ${remaining}`;
}

/** Whether the chain lets the order end for this reason. Once true it stays true, except for a nonce that was ahead. */
export function mayEndBy(signed: SignedOrder, reason: RemovalReason | undefined, truth: Truth): boolean {
  const { maker, hash, amount, nonce, expiresAt } = signed;
  const { protocol } = truth;
  const { head } = truth.chain;
  switch (reason) {
    case 'CANCELLED_ONCHAIN':
      return valueAt(head, cancelledOf(protocol, hash)) !== 0n;
    case 'FILLED':
      return valueAt(head, filledOf(protocol, hash)) >= amount;
    case 'EXPIRED':
      return head.header.timestamp >= expiresAt;
    case 'NONCE_CHANGED':
      return valueAt(head, nonceOf(protocol, maker)) !== nonce || signed.wasAhead;
    default:
      return false;
  }
}

function whyNot(
  signed: SignedOrder,
  remaining: bigint,
  protocol: Address,
  { at, funds }: { readonly at: JudgedBlock; readonly funds: JudgedBlock },
): string | undefined {
  const { maker, token, taking, hash, amount, nonce } = signed;
  const filled = valueAt(at, filledOf(protocol, hash));
  const allowed = valueAt(funds, allowance(token, maker, protocol));
  const balance = valueAt(funds, balanceOf(token, maker));
  if (valueAt(at, cancelledOf(protocol, hash)) !== 0n) return 'it was cancelled';
  if (valueAt(at, nonceOf(protocol, maker)) !== nonce) return 'the nonce was another one';
  if (valueAt(at, refusesSignatures(maker)) !== 0n) return 'its wallet refused it';
  if (valueAt(at, lacksCode(taking)) !== 0n) return 'its taking token had no code';
  if (remaining > amount - filled) return `${filled} of ${amount} were filled`;
  if (allowed < remaining) return `the allowance was ${allowed}`;
  return balance < remaining ? `the balance was ${balance}` : undefined;
}
