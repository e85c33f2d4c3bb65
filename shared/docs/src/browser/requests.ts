import type { TypedData, Types } from './typed-data.js';

/** A domain as GET …/info has it. */
export interface Domain {
  readonly name: string;
  readonly version: string;
  readonly chainId: number;
  readonly verifyingContract: string;
}

/** An order as POST takes it: quantities as 0x-prefixed hex. */
export interface Order {
  readonly salt: string;
  readonly nonce: string;
  readonly expiresAt: string;
  readonly making: { readonly token: string; readonly amount: string };
  readonly taking: { readonly token: string; readonly amount: string };
  readonly maker: string;
  readonly permittedTaker: string;
}

/** The structs of what is signed, the domain's among them. */
export interface SignedTypes {
  readonly order: Types;
  readonly list: Types;
  /** By the type of the domain's salt: `uint256` by the interface, `bytes32` by what wallets can do. */
  readonly cancellation: { readonly uint256: Types; readonly bytes32: Types };
}

/** What a maker signs to place an order (Interface 5.3). */
export function orderData(types: SignedTypes, domain: Domain, order: Order): TypedData {
  return { types: types.order, primaryType: 'Order', domain: { ...domain }, message: { ...order } };
}

/** What a maker signs to list its orders (Interface 5.1). `salt`: 32 bytes. */
export function listData(types: SignedTypes, domain: Domain, issuedAt: number, salt: string): TypedData {
  return {
    types: types.list,
    primaryType: 'GetLimitOrdersRequest',
    domain: { ...domain, salt },
    message: { issuedAt },
  };
}

/** What a maker signs to cancel an order (Interface 5.2). `salt`: the order's own. */
export function cancellationData(
  types: SignedTypes,
  domain: Domain,
  { orderHash, salt }: { readonly orderHash: string; readonly salt: string },
  saltType: 'uint256' | 'bytes32',
): TypedData {
  return {
    types: types.cancellation[saltType],
    primaryType: 'OrderCancellationRequest',
    domain: { ...domain, salt: `0x${salt.slice(2).padStart(64, '0')}` },
    message: { orderHash },
  };
}
