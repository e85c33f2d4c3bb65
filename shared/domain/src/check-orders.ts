import type { Cause, OrderCancelled, OrderSubmitted } from '@makerbook/contracts-events';
import { type Address, type Hex, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import type { Admission } from './maker.js';
import { type Order, orderToBody } from './order.js';
import type { Refusal } from './verdict.js';

/** An order of a request, with what ingress has proved about it. */
export interface ProvenOrder {
  readonly order: Order;
  readonly orderHash: Hex;
  readonly signature: Hex;
  /** The contract at the maker's address accepted the signature, and no key made it. */
  readonly byWallet: boolean;
}

/**
 * Checks the terms that no chain and no clock can change. Anyone may fill the order, both amounts are above zero, and
 * the tokens differ. The taking token is none of the addresses that stand for the native coin.
 */
export function checkTerms(orders: readonly Order[]): Refusal | undefined {
  return firstRefusal(orders, (order, index) => {
    if (order.permittedTaker !== ZERO_ADDRESS) {
      const detail = 'permittedTaker must be the zero address: orders for one taker are not supported yet';
      return { code: 'unsupported_permitted_taker', index, pointer: '/order/permittedTaker', detail };
    }
    if (order.making.amount === 0n) return zeroAmount(index, 'making');
    if (order.taking.amount === 0n) return zeroAmount(index, 'taking');
    if (order.making.token === order.taking.token) {
      const detail = 'making and taking must be different tokens';
      return { code: 'invalid_request', index, pointer: '/order/taking/token', detail };
    }
    if (isNativeCoin(order.taking.token)) {
      const detail = `${order.taking.token} stands for the native coin, which no order can take: use the wrapped token`;
      return { code: 'invalid_request', index, pointer: '/order/taking/token', detail };
    }
    return undefined;
  });
}

/** True for the addresses by which other protocols name the native coin. */
export function isNativeCoin(token: Address): boolean {
  return token === ZERO_ADDRESS || token === `0x${'e'.repeat(40)}`;
}

/** Refuses orders of makers that are not admitted. */
export function checkAdmission(
  orders: readonly Order[],
  admissionOf: (maker: Address) => Admission,
): Refusal | undefined {
  return firstRefusal(orders, (order, index) => {
    const admission = admissionOf(order.maker);
    if (admission === 'ADMITTED') return undefined;
    const detail =
      admission === 'SUSPENDED' ? `maker ${order.maker} is suspended` : `maker ${order.maker} is not on the whitelist`;
    return { code: 'maker_not_whitelisted', index, pointer: '/order/maker', detail };
  });
}

/**
 * Refuses orders that are expired, or cancelled by a higher nonce of their maker.
 * @param nowSeconds the server's clock
 * @param nonceOf the maker's nonce as last seen on the chain, undefined if never read
 */
export function checkTimeliness(
  orders: readonly Order[],
  nowSeconds: number,
  nonceOf: (maker: Address) => bigint | undefined,
): Refusal | undefined {
  return firstRefusal(orders, (order, index) => {
    if (order.expiresAt <= BigInt(nowSeconds)) {
      const detail = `expiresAt ${order.expiresAt} is not after now, ${nowSeconds}`;
      return { code: 'order_expired', index, pointer: '/order/expiresAt', detail };
    }
    const nonce = nonceOf(order.maker);
    if (nonce !== undefined && order.nonce < nonce) {
      const detail = `the maker's nonce is ${nonce}: an order with nonce ${order.nonce} is cancelled`;
      return { code: 'order_cancelled', index, pointer: '/order/nonce', detail };
    }
    return undefined;
  });
}

/** Refuses an order that comes twice in one request. */
export function checkRepeats(orderHashes: readonly Hex[]): Refusal | undefined {
  const seen = new Map<Hex, number>();
  return firstRefusal(orderHashes, (orderHash, index) => {
    const earlier = seen.get(orderHash);
    seen.set(orderHash, index);
    if (earlier === undefined) return undefined;
    return { code: 'duplicate', index, detail: `order ${orderHash} is at index ${earlier} already` };
  });
}

/** The facts of an accepted request, in the order of the request. */
export function submittedFacts(orders: readonly ProvenOrder[], acceptedAtMs: number, cause: Cause): OrderSubmitted[] {
  return orders.map(({ order, orderHash, signature, byWallet }) => ({
    type: 'OrderSubmitted',
    maker: order.maker,
    orderHash,
    order: orderToBody(order),
    signature,
    ...(byWallet && { byWallet }),
    acceptedAtMs,
    cause,
  }));
}

/**
 * The fact that a maker cancelled an order through the service.
 * @param expiresAtSeconds when the order expires, as `boundedSeconds` returns it
 */
export function cancelledFact(maker: Address, orderHash: Hex, expiresAtSeconds: number, cause: Cause): OrderCancelled {
  return { type: 'OrderCancelled', maker, orderHash, expiresAtSeconds, cause };
}

function zeroAmount(index: number, side: 'making' | 'taking'): Refusal {
  return {
    code: 'invalid_request',
    index,
    pointer: `/order/${side}/amount`,
    detail: `${side}.amount must be above zero`,
  };
}

function firstRefusal<T>(
  items: readonly T[],
  check: (item: T, index: number) => Refusal | undefined,
): Refusal | undefined {
  for (const [index, item] of items.entries()) {
    const refusal = check(item, index);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}
