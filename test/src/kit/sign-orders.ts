import { randomBytes } from 'node:crypto';
import {
  bytesToHex,
  createOrderHasher,
  createRequestHashers,
  hexToBytes,
  type Order,
  type SigningDomain,
} from '@makerbook/contracts-evm';
import { paths } from '@makerbook/contracts-http';
import { type Address, type Hex, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { orderToBody } from '@makerbook/domain';
import { addressOfKey, signDigest } from '@makerbook/signatures';
import type { PreparedRequest } from './send-requests.js';

export interface MakerKey {
  readonly key: Uint8Array;
  readonly address: Address;
}

/** An order as a POST takes it, with its hash. */
export interface OrderToPost {
  readonly order: Order;
  readonly orderHash: Hex;
  readonly signature: Hex;
}

const DAY_SECONDS = 86_400;
/** How much of the making token each order sells. */
export const MAKING_AMOUNT = 100n;

export function createMakers(count: number): MakerKey[] {
  return Array.from({ length: count }, () => {
    const key = randomBytes(32);
    return { key, address: addressOfKey(key) };
  });
}

/** Signs orders natively, in some 60 µs each. Each has its own salt. */
export function createOrderSigner(
  domain: SigningDomain,
  makingToken: Address,
  takingToken: Address,
): (maker: MakerKey) => OrderToPost {
  const hasher = createOrderHasher(domain);
  const expiresAt = BigInt(Math.floor(Date.now() / 1000) + DAY_SECONDS);
  return ({ key, address }) => {
    const order: Order = {
      salt: BigInt(bytesToHex(randomBytes(32))),
      nonce: 0n,
      expiresAt,
      making: { token: makingToken, amount: MAKING_AMOUNT },
      taking: { token: takingToken, amount: 50n },
      maker: address,
      permittedTaker: ZERO_ADDRESS,
    };
    const digest = hasher.hashOrder(order);
    return { order, orderHash: bytesToHex(digest), signature: signDigest(digest, key) };
  };
}

/** Signs requests that read and cancel. */
export function createRequestSigner(domain: SigningDomain) {
  const hashers = createRequestHashers(domain);
  const signCancellation = ({ key }: MakerKey, { order, orderHash }: OrderToPost) => {
    const salt = hexToBytes(`0x${order.salt.toString(16).padStart(64, '0')}`);
    return signDigest(hashers.hashCancellation({ orderHash: hexToBytes(orderHash), salt }, 'uint256'), key);
  };
  const signRead =
    (path: string, hash: (request: { issuedAt: bigint; salt: Uint8Array }) => Uint8Array) =>
    ({ key }: MakerKey): PreparedRequest => {
      const salt = randomBytes(32);
      const issuedAt = BigInt(Math.floor(Date.now() / 1000) - 1);
      const signature = signDigest(hash({ issuedAt, salt }), key);
      const query = new URLSearchParams({ issuedAt: String(issuedAt), salt: bytesToHex(salt), signature });
      return { method: 'GET', path: `${path}?${query}` };
    };
  return {
    signList: signRead(paths.limitOrders, hashers.hashGetRequest),
    signStream: signRead(paths.stream, hashers.hashStreamRequest),
    signHistory: signRead(paths.history, hashers.hashHistoryRequest),
    signCancel(maker: MakerKey, ...orders: readonly OrderToPost[]): PreparedRequest {
      const hashes = orders.map(({ orderHash }) => orderHash);
      const signatures = orders.map((order) => signCancellation(maker, order));
      return { method: 'DELETE', path: `${paths.limitOrders}?orderHashes=${hashes}&signatures=${signatures}` };
    },
  };
}

export function postOf(orders: readonly OrderToPost[]): PreparedRequest {
  return { method: 'POST', path: paths.limitOrders, body: bodyOf(orders) };
}

export function bodyOf(orders: readonly OrderToPost[]): Buffer {
  return Buffer.from(JSON.stringify(orders.map(({ order, signature }) => ({ order: orderToBody(order), signature }))));
}
