import { type Address, type Hex, quantity } from '@makerbook/contracts-primitives';

/** A token amount as the contract and the typed data know it; `amount` in the token's smallest unit. */
export interface TokenAmount {
  readonly token: Address;
  readonly amount: bigint;
}

/** The order that a maker signs. `expiresAt` in Unix seconds. Quantities are uint256. */
export interface Order {
  readonly salt: bigint;
  readonly nonce: bigint;
  readonly expiresAt: bigint;
  readonly making: TokenAmount;
  readonly taking: TokenAmount;
  readonly maker: Address;
  readonly permittedTaker: Address;
}

/** An order as JSON has it: quantities in minimal hex. */
export interface OrderInHex {
  readonly salt: Hex;
  readonly nonce: Hex;
  readonly expiresAt: Hex;
  readonly making: { readonly token: Address; readonly amount: Hex };
  readonly taking: { readonly token: Address; readonly amount: Hex };
  readonly maker: Address;
  readonly permittedTaker: Address;
}

/** The normal form of an order whose addresses are in lowercase. The keys are always in this order. */
export function orderToBody(order: Order): OrderInHex {
  return {
    salt: quantity(order.salt),
    nonce: quantity(order.nonce),
    expiresAt: quantity(order.expiresAt),
    making: { token: order.making.token, amount: quantity(order.making.amount) },
    taking: { token: order.taking.token, amount: quantity(order.taking.amount) },
    maker: order.maker,
    permittedTaker: order.permittedTaker,
  };
}

/** The values that bind signatures to one deployment. */
export interface SigningDomain {
  readonly serviceName: string;
  readonly chainId: bigint | number;
  readonly verifyingContract: Address;
}

/** How a cancellation's domain types its salt: `uint256` in the interface, `bytes32` in common wallets. */
export type SaltType = 'uint256' | 'bytes32';

/** One field of an EIP-712 struct, in the form that ethers' TypedDataEncoder takes. */
export interface TypedField {
  name: string;
  type: string;
}

export const DOMAIN_VERSION = 'v0';

/** The domain's name: `<SERVICE_NAME> Limit Order Protocol`. */
export function domainName(serviceName: string): string {
  return `${serviceName} Limit Order Protocol`;
}

/** The Navigator's own domain name: `<SERVICE_NAME> Navigator`. */
export function navigatorDomainName(serviceName: string): string {
  return `${serviceName} Navigator`;
}

/** The domain as ethers' TypedDataEncoder takes it. For GETs and single cancellations, add a `salt` to it. */
export function typedDataDomain(
  domain: SigningDomain,
  name: string = domainName(domain.serviceName),
): {
  name: string;
  version: string;
  chainId: bigint;
  verifyingContract: Address;
} {
  return {
    name,
    version: DOMAIN_VERSION,
    chainId: BigInt(domain.chainId),
    verifyingContract: domain.verifyingContract,
  };
}

/** Types of the order schema. */
export const orderTypes: Record<'Order' | 'TokenAmount', TypedField[]> = {
  Order: [
    { name: 'salt', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'expiresAt', type: 'uint256' },
    { name: 'making', type: 'TokenAmount' },
    { name: 'taking', type: 'TokenAmount' },
    { name: 'maker', type: 'address' },
    { name: 'permittedTaker', type: 'address' },
  ],
  TokenAmount: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ],
};

/** Types of the list request; its domain carries a bytes32 salt. */
export const getLimitOrdersRequestTypes: Record<'GetLimitOrdersRequest', TypedField[]> = {
  GetLimitOrdersRequest: [{ name: 'issuedAt', type: 'uint256' }],
};

/** Types of the request for one order; its domain carries a bytes32 salt. */
export const getLimitOrderRequestTypes: Record<'GetLimitOrderRequest', TypedField[]> = {
  GetLimitOrderRequest: [
    { name: 'orderHash', type: 'bytes32' },
    { name: 'issuedAt', type: 'uint256' },
  ],
};

/** Types of the request for a maker's account; its domain carries a bytes32 salt. */
export const getAccountRequestTypes: Record<'GetAccountRequest', TypedField[]> = {
  GetAccountRequest: [{ name: 'issuedAt', type: 'uint256' }],
};

/** Types of the request for the history of a maker's orders; its domain carries a bytes32 salt. */
export const getLimitOrderHistoryRequestTypes: Record<'GetLimitOrderHistoryRequest', TypedField[]> = {
  GetLimitOrderHistoryRequest: [{ name: 'issuedAt', type: 'uint256' }],
};

/** Types of the request for a stream; its domain carries a bytes32 salt. */
export const streamLimitOrdersRequestTypes: Record<'StreamLimitOrdersRequest', TypedField[]> = {
  StreamLimitOrdersRequest: [{ name: 'issuedAt', type: 'uint256' }],
};

/** Types of the cancellation; its domain carries a salt, see `saltedDomainTypes`. */
export const orderCancellationRequestTypes: Record<'OrderCancellationRequest', TypedField[]> = {
  OrderCancellationRequest: [{ name: 'orderHash', type: 'bytes32' }],
};

/** Types of the request to cancel all orders of some tokens; the zero address stands for any token. */
export const cancelAllRequestTypes: Record<'CancelAllRequest', TypedField[]> = {
  CancelAllRequest: [
    { name: 'maker', type: 'address' },
    { name: 'making', type: 'address' },
    { name: 'taking', type: 'address' },
    { name: 'untilMs', type: 'uint256' },
  ],
};

/** Types of the request to cancel the orders that have one of these salts. */
export const cancelBySaltRequestTypes: Record<'CancelBySaltRequest', TypedField[]> = {
  CancelBySaltRequest: [
    { name: 'maker', type: 'address' },
    { name: 'salts', type: 'uint256[]' },
    { name: 'untilMs', type: 'uint256' },
  ],
};

/** Types of the request that sets the dead-man's switch. */
export const heartbeatRequestTypes: Record<'HeartbeatRequest', TypedField[]> = {
  HeartbeatRequest: [
    { name: 'maker', type: 'address' },
    { name: 'cancelAt', type: 'uint256' },
    { name: 'issuedAtMs', type: 'uint256' },
  ],
};

/** Types of the request that names the keys that may cancel for a maker. */
export const cancelKeysRequestTypes: Record<'CancelKeysRequest', TypedField[]> = {
  CancelKeysRequest: [
    { name: 'maker', type: 'address' },
    { name: 'keys', type: 'address[]' },
    { name: 'issuedAtMs', type: 'uint256' },
  ],
};

/** Types of the request that names cancel keys, and keys that may list, stream and read the history for a maker. */
export const keysRequestTypes: Record<'KeysRequest', TypedField[]> = {
  KeysRequest: [
    { name: 'maker', type: 'address' },
    { name: 'keys', type: 'address[]' },
    { name: 'listKeys', type: 'address[]' },
    { name: 'streamKeys', type: 'address[]' },
    { name: 'historyKeys', type: 'address[]' },
    { name: 'issuedAtMs', type: 'uint256' },
  ],
};

/**
 * Types of the service's receipt of a request: the hashes of the orders that it placed and cancelled, the digest of a
 * message about all orders, and the position in the log as `X-Log-Position` has it.
 */
export const receiptTypes: Record<'Receipt', TypedField[]> = {
  Receipt: [
    { name: 'placed', type: 'bytes32[]' },
    { name: 'cancelled', type: 'bytes32[]' },
    { name: 'messages', type: 'bytes32[]' },
    { name: 'position', type: 'string' },
  ],
};

/** Types of the request that caps fills of a token within a window; an amount or a window of zero removes the cap. */
export const fillCapRequestTypes: Record<'FillCapRequest', TypedField[]> = {
  FillCapRequest: [
    { name: 'maker', type: 'address' },
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
    { name: 'windowSeconds', type: 'uint256' },
    { name: 'issuedAtMs', type: 'uint256' },
  ],
};

/** Types that a quote signer signs for a swap call of quote version v0. */
export const quoteV0Types: Record<'QuoteV0', TypedField[]> = {
  QuoteV0: [
    { name: 'tokenIn', type: 'address' },
    { name: 'amountIn', type: 'uint256' },
    { name: 'tokenOut', type: 'address' },
    { name: 'deadline', type: 'uint256' },
    { name: 'route', type: 'bytes' },
    { name: 'minOutput', type: 'uint256[]' },
  ],
};

/** Types that a quote signer signs for a swap call of quote version v1. */
export const quoteV1Types: Record<'QuoteV1', TypedField[]> = {
  QuoteV1: [
    { name: 'quoteId', type: 'uint256' },
    { name: 'tokenIn', type: 'address' },
    { name: 'amountIn', type: 'uint256' },
    { name: 'tokenOut', type: 'address' },
    { name: 'recipient', type: 'address' },
    { name: 'deadline', type: 'uint256' },
    { name: 'route', type: 'bytes' },
    { name: 'minOutput', type: 'uint256[]' },
  ],
};

/** The domain's own struct, for encoders that take the domain's types as a parameter. */
export const domainTypes: Record<'EIP712Domain', TypedField[]> = {
  EIP712Domain: [
    { name: 'name', type: 'string' },
    { name: 'version', type: 'string' },
    { name: 'chainId', type: 'uint256' },
    { name: 'verifyingContract', type: 'address' },
  ],
};

/**
 * The domain's struct with this type of salt. `uint256` needs it: ethers, and wallets built on such libraries, always
 * type a domain's salt as bytes32.
 */
export function saltedDomainTypes(saltType: SaltType): Record<'EIP712Domain', TypedField[]> {
  return { EIP712Domain: [...domainTypes.EIP712Domain, { name: 'salt', type: saltType }] };
}

/** The type string of EIP-712 for structs, the primary one first and the others in alphabetical order. */
export function typeString(types: Record<string, TypedField[]>): string {
  return Object.entries(types)
    .map(([name, fields]) => `${name}(${fields.map((field) => `${field.type} ${field.name}`).join(',')})`)
    .join('');
}
