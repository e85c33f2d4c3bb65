import { cancellationData, type Domain, listData, type Order, orderData, type SignedTypes } from './requests.js';
import { addressOf, createKey, signTypedData } from './sign.js';
import { hashTypedData, type TypedData } from './typed-data.js';

/** The block of JSON in the page. */
export interface Interface {
  readonly info: {
    readonly domains: { readonly order: Domain; readonly cancellation: Domain; readonly list: Domain };
  };
  readonly types: SignedTypes;
  readonly paths: { readonly limitOrders: string; readonly info: string };
}

/** An order as GET and POST answer it. */
export interface OrderRecord {
  readonly order: Order;
  readonly orderHash: string;
  readonly status: string;
  readonly reason?: string;
}

/** One request, with what was signed for it, and its answer. */
export interface Exchange {
  readonly signed: TypedData;
  readonly digest: string;
  readonly method: string;
  readonly url: string;
  readonly body?: string;
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly answer: string;
}

/** Who signs: a key of this page, or a wallet by EIP-1193. */
export interface Signer {
  readonly address: string;
  /** How it types the salt of a cancellation's domain. */
  readonly saltType: 'uint256' | 'bytes32';
  readonly sign: (data: TypedData) => Promise<string>;
}

/** A wallet in the browser (EIP-1193). */
export interface Wallet {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>;
}

/** What the page does for a maker; each call signs, sends and reports one request. */
export interface Calls {
  place(order: Order): Promise<Exchange>;
  list(): Promise<Exchange>;
  cancel(order: Pick<OrderRecord, 'order' | 'orderHash'>): Promise<Exchange>;
}

const KEPT = 'makerbook.throw-away-key';
/** Taken off the clock, since a request must not be from the future of the service's. */
const SKEW_SECONDS = 1;

/** A signer with the key that this browser keeps, or with a new one. */
export function keySigner(storage: Pick<Storage, 'getItem' | 'setItem'>, isNew: boolean): Signer {
  const kept = isNew ? null : storage.getItem(KEPT);
  const key = kept ?? createKey();
  storage.setItem(KEPT, key);
  return { address: addressOf(key), saltType: 'uint256', sign: async (data) => signTypedData(data, key) };
}

/** A signer with the first account of a wallet. @throws what the wallet throws, where the user refuses */
export async function walletSigner(wallet: Wallet): Promise<Signer> {
  const accounts = (await wallet.request({ method: 'eth_requestAccounts' })) as readonly string[];
  const address = accounts[0]?.toLowerCase();
  if (address === undefined) throw new Error('the wallet has no account');
  const sign = (data: TypedData) =>
    wallet.request({ method: 'eth_signTypedData_v4', params: [address, JSON.stringify(data)] }) as Promise<string>;
  return { address, saltType: 'bytes32', sign };
}

/** 32 random bytes. */
export function randomSalt(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `0x${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** The calls of a maker to the service at `baseUrl`. */
export function createCalls({ info, types, paths }: Interface, baseUrl: string, signer: Signer): Calls {
  const url = `${baseUrl}${paths.limitOrders}`;
  async function send(signed: TypedData, method: string, to: (signature: string) => readonly [string, unknown?]) {
    const [address, content] = to(await signer.sign(signed));
    const body = content === undefined ? undefined : JSON.stringify(content);
    const headers = { 'Content-Type': 'application/json' };
    const response = await fetch(address, { method, ...(body === undefined ? {} : { body, headers }) });
    return {
      signed,
      digest: hashTypedData(signed),
      method,
      url: address,
      ...(body === undefined ? {} : { body }),
      status: response.status,
      headers: [...response.headers],
      answer: await response.text(),
    };
  }
  return {
    place: (order) =>
      send(orderData(types, info.domains.order, order), 'POST', (signature) => [url, [{ order, signature }]]),
    list() {
      const salt = randomSalt();
      const issuedAt = Math.floor(Date.now() / 1000) - SKEW_SECONDS;
      const data = listData(types, info.domains.list, issuedAt, salt);
      return send(data, 'GET', (signature) => [
        `${url}?${new URLSearchParams({ issuedAt: String(issuedAt), salt, signature })}`,
      ]);
    },
    cancel({ order, orderHash }) {
      const data = cancellationData(types, info.domains.cancellation, { orderHash, salt: order.salt }, signer.saltType);
      return send(data, 'DELETE', (signature) => [
        `${url}?${new URLSearchParams({ orderHashes: orderHash, signatures: signature })}`,
      ]);
    },
  };
}
