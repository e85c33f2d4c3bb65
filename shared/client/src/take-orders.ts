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

/** What a maker decides of an order; the rest is filled in. */
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
 * What is cancelled: a signed order, a record of the list, or its hash and its salt, by which the cancellation is
 * signed. Where the service does not know the order, it remembers the hash until the order expires, or for good if it
 * is not told when.
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
 * What is replaced: likewise, and what is left of the order as its maker knows it, which a record has. All of it unless
 * given: where the service has seen another amount, nothing happens.
 */
export type OrderToReplace = OrderToCancel & { readonly remainingMakingAmount?: Uint256 | undefined };

/** All orders of the maker that are open, or on their way, and have one of the salts that it gave them. */
export interface SaltsToCancel {
  readonly salts: readonly Uint256[];
  /** Of those that the service accepted by then, in milliseconds since 1970. Default: now, by the service's clock. */
  readonly untilMs?: Whole;
}

/** Likewise; each salt has to have an order, and what is left is that of all of them together. */
export interface SaltsToReplace extends SaltsToCancel {
  readonly remainingMakingAmount?: Uint256 | undefined;
}

/** @throws WrongValue where a field cannot be meant */
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

/** The order as it is signed; the service judges what it says. @throws WrongValue where a field has another form */
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

/** The items of a POST. @throws WrongValue where one is no signed order */
export function readSignedOrders(given: readonly SignedOrder[]) {
  return readArray('orders', given).map((item, index) => {
    const { order, signature } = readFields(`orders[${index}]`, item);
    return {
      order: orderToBody(readTerms(`orders[${index}].order`, order)),
      signature: readBytes(`orders[${index}].signature`, signature),
    };
  });
}

/** @param field names the list. @throws WrongValue where an item lacks its hash or its salt */
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

/** What is left of each order by its maker, as an item of a replacement has it. @throws WrongValue */
export function readRemaining(field: string, given: readonly Pick<OrderToReplace, 'remainingMakingAmount'>[]) {
  return given.map(({ remainingMakingAmount: left }, index) =>
    left === undefined
      ? {}
      : { remainingMakingAmount: quantity(readUint256(`${field}[${index}].remainingMakingAmount`, left)) },
  );
}
