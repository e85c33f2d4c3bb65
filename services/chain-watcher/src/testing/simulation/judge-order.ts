import { allowance, balanceOf, cancelledOf, filledOf, nonceOf } from '@makerbook/chain';
import { type OpenOrder, type RemovalReason, routableUntilSeconds } from '@makerbook/domain';
import { GRACE_SECONDS, type KnownOrder } from './fold-log.js';
import { type Block, type Chain, valueAt } from './keep-chain.js';
import { PROTOCOL, SILENT, type SignedOrder } from './place-orders.js';

/** The blocks whose state is looked at, for each thing that an order hangs on. */
interface Places {
  readonly order: Block;
  readonly nonce: Block;
  readonly balance: Block;
  readonly allowance: Block;
}

/**
 * Why an ACTIVE order could not be filled with this block processed, nor at a later one up to the newest that was read
 * from. Where a token says nothing of its changes, it counts what it held when it was read.
 * @param readBlock at which the fact was read that had it ACTIVE
 */
export function whyNotActive(
  signed: SignedOrder,
  known: KnownOrder,
  { chain, block, readBlock = 0 }: { readonly chain: Chain; readonly block: number; readonly readBlock?: number },
): string | undefined {
  const { order, balance, allowance, nonce } = readAt(known);
  if (chain.at(block).header.timestamp >= routableUntilSeconds(known.order, { routingGraceSeconds: GRACE_SECONDS })) {
    return 'it was in its last seconds';
  }
  const isSilent = signed.token === SILENT;
  const reasons: string[] = [];
  for (let at = block; at <= Math.max(block, readBlock, order, balance, allowance, nonce); at += 1) {
    const reason = whyNot(signed, known.order.remaining, {
      order: chain.at(at),
      nonce: chain.at(at),
      balance: chain.at(isSilent ? balance : at),
      allowance: chain.at(isSilent ? allowance : at),
    });
    if (reason === undefined) return undefined;
    reasons.push(`at ${at} ${reason}`);
  }
  return reasons.join('; ');
}

/**
 * Whether all that is known of the order is right, each thing at the block at which it was read where that is beyond the
 * processed one: two watchers in different blocks have read them.
 */
export function isOfDifferentBlocks(signed: SignedOrder, known: KnownOrder, chain: Chain, block: number): boolean {
  const { order, balance, allowance, nonce } = readAt(known);
  const isSilent = signed.token === SILENT;
  const later = (read: number) => chain.at(Math.max(block, read));
  const reason = whyNot(signed, known.order.remaining, {
    order: later(order),
    nonce: later(nonce),
    balance: isSilent ? chain.at(balance) : later(balance),
    allowance: isSilent ? chain.at(allowance) : later(allowance),
  });
  return reason === undefined;
}

/** The state of an open order by what the chain says after the block; `gone` where it is none any more. */
export function stateAt(signed: SignedOrder, at: Block): string {
  const { maker, token, hash, amount, nonce, expiresAt } = signed;
  const remaining = amount - valueAt(at, filledOf(PROTOCOL, hash));
  const isGone = remaining <= 0n || valueAt(at, cancelledOf(PROTOCOL, hash)) !== 0n;
  if (isGone || valueAt(at, nonceOf(PROTOCOL, maker)) !== nonce || at.header.timestamp >= expiresAt) return 'gone';
  if (valueAt(at, allowance(token, maker, PROTOCOL)) < remaining) return `INSUFFICIENT_ALLOWANCE ${remaining}`;
  return `${valueAt(at, balanceOf(token, maker)) < remaining ? 'INSUFFICIENT_BALANCE' : 'ACTIVE'} ${remaining}`;
}

/** As `stateAt`, of what the fold says. */
export function stateOf({ state, remaining }: OpenOrder): string {
  return `${state.status === 'INACTIVE' ? state.reason : state.status} ${remaining}`;
}

/** Whether the chain has the order ended by this. What is so once is so for ever, but for a nonce that was ahead. */
export function mayEndBy(signed: SignedOrder, reason: RemovalReason | undefined, { head }: Chain): boolean {
  const { maker, hash, amount, nonce, expiresAt } = signed;
  switch (reason) {
    case 'CANCELLED_ONCHAIN':
      return valueAt(head, cancelledOf(PROTOCOL, hash)) !== 0n;
    case 'FILLED':
      return valueAt(head, filledOf(PROTOCOL, hash)) >= amount;
    case 'EXPIRED':
      return head.header.timestamp >= expiresAt;
    case 'NONCE_CHANGED':
      return valueAt(head, nonceOf(PROTOCOL, maker)) !== nonce || signed.wasAhead;
    default:
      return false;
  }
}

/** The block at which each thing was read; 0 for what was not. */
function readAt({ order, funding, nonce }: KnownOrder) {
  return {
    order: order.observedBlock ?? 0,
    balance: funding?.balance?.blockNumber ?? 0,
    allowance: funding?.allowance?.blockNumber ?? 0,
    nonce: nonce?.blockNumber ?? 0,
  };
}

function whyNot(signed: SignedOrder, remaining: bigint, at: Places): string | undefined {
  const { maker, token, hash, amount, nonce } = signed;
  const filled = valueAt(at.order, filledOf(PROTOCOL, hash));
  const allowed = valueAt(at.allowance, allowance(token, maker, PROTOCOL));
  const balance = valueAt(at.balance, balanceOf(token, maker));
  if (valueAt(at.order, cancelledOf(PROTOCOL, hash)) !== 0n) return 'it was cancelled';
  if (valueAt(at.nonce, nonceOf(PROTOCOL, maker)) !== nonce) return 'the nonce was another one';
  if (remaining > amount - filled) return `${filled} of ${amount} were filled`;
  if (allowed < remaining) return `the allowance was ${allowed}`;
  return balance < remaining ? `the balance was ${balance}` : undefined;
}
