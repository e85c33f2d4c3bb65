import type { Order, OrderInHex } from '@makerbook/contracts-evm/typed-data';
import { orderToBody } from '@makerbook/contracts-evm/typed-data';
import {
  type Hex,
  quantity,
  readAddress,
  readArray,
  readBytes,
  readExpiry,
  readFields,
  readHex,
  readTime,
  readToken,
  readUint256,
  type Uint256,
  type Whole,
} from '@makerbook/contracts-primitives';

/** An amount of a token in its smallest unit. */
export interface AmountOfToken {
  readonly token: string;
  readonly amount: Uint256;
}

/** The terms that a maker decides. The client fills in the rest. */
export interface OrderDraft {
  readonly making: AmountOfToken;
  readonly taking: AmountOfToken;
  /** Unix seconds. */
  readonly expiresAt: Whole;
  /** The maker's cancel-all counter on the chain (`nonce` of the LimitOrderProtocol contract). Default 0. */
  readonly nonce?: Uint256;
  /** Default: 32 random bytes. */
  readonly salt?: Uint256;
}

/** A whole order, as a program gives it. */
export interface OrderTerms extends Required<OrderDraft> {
  readonly maker: string;
  readonly permittedTaker: string;
}

/** An order and its signature, as POST takes them, with the hash that names it. */
export interface SignedOrder {
  readonly order: OrderInHex;
  readonly orderHash: Hex;
  readonly signature: Hex;
}

/**
 * An order to cancel: a signed order, a record of the list, or its hash and its salt, which the cancellation is signed
 * with. If the service does not know the order, it remembers the hash until `expiresAt`. Without `expiresAt` it
 * remembers the hash for good.
 */
export type OrderToCancel =
  | ({ readonly orderHash: string } & CancelTerms)
  | { readonly orderHash: string; readonly order: CancelTerms };

interface CancelTerms {
  readonly salt: Uint256;
  /** Unix seconds. */
  readonly expiresAt?: Whole;
}

/**
 * An order to replace, with the amount that its maker believes is left. A record has that amount. Default: all of the
 * order. If the service has seen another amount, nothing happens.
 */
export type OrderToReplace = OrderToCancel & { readonly remainingMakingAmount?: Uint256 | undefined };

/** All orders of the maker that have one of these salts, open or in flight. */
export interface SaltsToCancel {
  readonly salts: readonly Uint256[];
  /** Only orders accepted up to this time, in milliseconds since 1970. Default: now, by the service's clock. */
  readonly untilMs?: Whole;
}

/** The same for a replacement. Each salt must have an order. The amount left is the sum over all of them. */
export interface SaltsToReplace extends SaltsToCancel {
  readonly remainingMakingAmount?: Uint256 | undefined;
}

/** @throws WrongValue if a field makes no sense */
export function readDraft({ making, taking, expiresAt, nonce = 0n, salt }: OrderDraft) {
  return {
    making: readAmountOf('making', making),
    taking: readAmountOf('taking', taking),
    expiresAt: readExpiry('expiresAt', expiresAt),
    nonce: readUint256('nonce', nonce),
    ...(salt !== undefined && { salt: readUint256('salt', salt) }),
  };
}

function readAmountOf(field: string, given: AmountOfToken) {
  const { token, amount } = readFields(field, given);
  return { token: readToken(`${field}.token`, token), amount: readUint256(`${field}.amount`, amount) };
}

/** Reads an order to sign. The service judges its terms. @throws WrongValue if a field has another form */
export function readTerms(field: string, given: OrderTerms): Order {
  const uint256 = (name: 'salt' | 'nonce') => readUint256(`${field}.${name}`, given[name]);
  const amountOf = (name: 'making' | 'taking') => {
    const { token, amount } = readFields(`${field}.${name}`, given[name]);
    return {
      token: readAddress(`${field}.${name}.token`, token),
      amount: readUint256(`${field}.${name}.amount`, amount),
    };
  };
  readFields(field, given);
  return {
    salt: uint256('salt'),
    nonce: uint256('nonce'),
    expiresAt: readTime(`${field}.expiresAt`, given.expiresAt),
    making: amountOf('making'),
    taking: amountOf('taking'),
    maker: readAddress(`${field}.maker`, given.maker),
    permittedTaker: readAddress(`${field}.permittedTaker`, given.permittedTaker),
  };
}

/** Reads the items of a POST. @throws WrongValue if one is no signed order */
export function readSignedOrders(given: readonly SignedOrder[]) {
  return readArray('orders', given).map((item, index) => {
    const { order, signature } = readFields(`orders[${index}]`, item);
    return {
      order: orderToBody(readTerms(`orders[${index}].order`, order)),
      signature: readBytes(`orders[${index}].signature`, signature),
    };
  });
}

/** @param field names the list. @throws WrongValue if an item lacks its hash or its salt */
export function readOrdersToCancel(field: string, given: readonly OrderToCancel[]) {
  return readArray(field, given).map((item, index) => {
    const of = readFields(`${field}[${index}]`, item);
    const { salt, expiresAt } = 'salt' in of ? of : { ...of.order };
    return {
      orderHash: readHex(`${field}[${index}].orderHash`, of.orderHash, 32),
      salt: readUint256(`${field}[${index}].salt`, salt),
      ...(expiresAt !== undefined && { expiresAt: readTime(`${field}[${index}].expiresAt`, expiresAt) }),
    };
  });
}

/** Reads the amount that the maker believes is left of each order, for a replacement. @throws WrongValue */
export function readRemaining(field: string, given: readonly Pick<OrderToReplace, 'remainingMakingAmount'>[]) {
  return given.map(({ remainingMakingAmount: left }, index) =>
    left === undefined
      ? {}
      : { remainingMakingAmount: quantity(readUint256(`${field}[${index}].remainingMakingAmount`, left)) },
  );
}
