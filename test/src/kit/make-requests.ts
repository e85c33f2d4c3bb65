import {
  bytesToHex,
  cancelAllRequestTypes,
  cancelBySaltRequestTypes,
  cancelKeysRequestTypes,
  createOrderHasher,
  createRequestHashers,
  fillCapRequestTypes,
  heartbeatRequestTypes,
  hexToBytes,
  typedDataDomain,
} from '@makerbook/contracts-evm';
import { type Address, type Hex, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import type { StackFile } from '@makerbook/local-stack';
import { type BaseWallet, hexlify, randomBytes, TypedDataEncoder, toBeHex, ZeroAddress } from 'ethers';
import { createQuoteIssuer, TEST_QUOTE_SIGNER_KEY } from '../quotes/issue-quotes.js';
import { requestBytes } from './raw-http.js';

/** The terms of an order, as in JSON. */
export interface OrderTerms {
  readonly salt: string;
  readonly nonce: string;
  readonly expiresAt: string;
  readonly making: { readonly token: string; readonly amount: string };
  readonly taking: { readonly token: string; readonly amount: string };
  readonly maker: string;
  readonly permittedTaker: string;
}

export interface Asked {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** An item of a POST, and its expected hash. */
export interface SignedItem {
  readonly order: OrderTerms;
  readonly signature: string;
  readonly orderHash: string;
}

/** Kinds of requests about all orders of a maker. */
export type ExitKind = 'cancel-all' | 'heartbeat' | 'cancel-keys' | 'fill-cap';

export const ORDERS_PATH = '/v0alpha/limit-orders';
export const CANCELLATIONS_PATH = '/v0alpha/limit-orders/cancellations';
export const QUOTE_PATH = '/v0/quote/data';

export type RequestMaker = ReturnType<typeof requestMaker>;

/** Makes requests of makers. Other tests compare the signed digests, and the calls of quotes, with those of ethers. */
export function requestMaker(stack: StackFile) {
  const sign = createSigner(stack);
  const [making = ZeroAddress, taking = ZeroAddress] = stack.tokens.map(({ address }) => address);
  /** A read that was issued a second ago, if the time is not given. */
  const reading = (path: string, maker: BaseWallet, hash: HashRead, issuedAt = nowSeconds() - 1) => {
    const salt = randomBytes(32);
    const signature = signDigest(maker, hash({ issuedAt: BigInt(issuedAt), salt }));
    const query = { issuedAt: String(issuedAt), salt: hexlify(salt), signature };
    return { method: 'GET', target: `${ORDERS_PATH}${path}?${new URLSearchParams(query)}` };
  };
  return {
    sign,
    /** An order of the maker with a salt of its own, good for an hour. */
    order(maker: BaseWallet, change: Partial<OrderTerms> = {}): SignedItem {
      const order = {
        salt: hexlify(randomBytes(32)),
        nonce: '0x0',
        expiresAt: toBeHex(nowSeconds() + 3600),
        making: { token: making, amount: '0x64' },
        taking: { token: taking, amount: '0x32' },
        maker: maker.address,
        permittedTaker: ZeroAddress,
        ...change,
      };
      return { order, signature: sign.signOrder(maker, order), orderHash: sign.hashOrder(order) };
    },
    post: (items: readonly Placed[]): Asked => posting('', items.map(bodyOf)),
    /** POST …/replacements. @param signer cancels instead of the maker */
    replace(gone: readonly SignedItem[], items: readonly Placed[], signer: BaseWallet): Asked {
      const cancel = gone.map(({ orderHash, order }) => ({
        orderHash,
        signature: sign.signCancellation(signer, orderHash, order.salt),
      }));
      return posting('/replacements', { cancel, place: items.map(bodyOf) });
    },
    /** @param signer signs instead of the maker */
    cancel: (items: readonly SignedItem[], signer: BaseWallet): Asked =>
      cancelling(
        items.map(({ orderHash, order }) => [orderHash, sign.signCancellation(signer, orderHash, order.salt)]),
      ),
    list: (maker: BaseWallet, at?: number) => reading('', maker, sign.hashers.hashGetRequest, at),
    find(maker: BaseWallet, hash: string, at?: number) {
      const orderHash = hexToBytes(hash as Hex);
      return reading(`/${hash}`, maker, (rest) => sign.hashers.hashOrderRequest({ orderHash, ...rest }), at);
    },
    stream: (maker: BaseWallet, at?: number) => reading('/stream', maker, sign.hashers.hashStreamRequest, at),
    account: (maker: BaseWallet, at?: number) => reading('/account', maker, sign.hashers.hashAccountRequest, at),
    history: (maker: BaseWallet, at?: number) => reading('/history', maker, sign.hashers.hashHistoryRequest, at),
    /** Cancel-all of one token, heartbeat, cancel keys and fill cap. @param more is not signed, unlike `cap` */
    exit(
      kind: ExitKind,
      wallet: BaseWallet,
      more: object = {},
      signer = wallet,
      issuedAtMs = Date.now(),
      cap: object = {},
    ): Asked {
      const maker = wallet.address;
      const [types, body, unsent = {}] = {
        'cancel-all': [
          cancelAllRequestTypes,
          { maker, making, untilMs: issuedAtMs },
          { taking: ZERO_ADDRESS },
        ] as const,
        heartbeat: [heartbeatRequestTypes, { maker, cancelAt: nowSeconds() + 30, issuedAtMs }] as const,
        'cancel-keys': [cancelKeysRequestTypes, { maker, keys: [], issuedAtMs }] as const,
        'fill-cap': [
          fillCapRequestTypes,
          { maker, token: making, amount: '0x64', windowSeconds: 60, issuedAtMs, ...cap },
        ] as const,
      }[kind];
      const digest = TypedDataEncoder.hash(typedDataDomain(sign.domain), types, { ...body, ...unsent });
      return posting(`/${kind}`, { ...body, signature: signer.signingKey.sign(digest).serialized, ...more });
    },
    patch: (data: string, amount: unknown): Asked => ({
      method: 'PATCH',
      target: QUOTE_PATH,
      headers: json,
      body: JSON.stringify({ data, minOutput: { amount } }),
    }),
    quote: (change: Partial<QuoteTerms> = {}) => quoteCall(stack, change),
  };
}

interface QuoteTerms {
  readonly deadline: bigint;
  readonly minOutput: bigint | undefined;
  readonly key: Hex;
}

/** `quote.tx.data` of a quote of version v0. It has no assertion if `minOutput` is undefined. */
function quoteCall(stack: StackFile, change: Partial<QuoteTerms>): string {
  const [tokenIn = ZERO_ADDRESS, tokenOut = ZERO_ADDRESS] = stack.tokens.map(({ address }) => lower(address));
  const pools = [lower(stack.pools[0]?.address ?? ZERO_ADDRESS)];
  const { key, ...terms } = { deadline: 4_000_000_000n, minOutput: 1n, key: TEST_QUOTE_SIGNER_KEY, ...change };
  const route = { version: 'v0', tokenIn, amountIn: 1000n, tokenOut, pools } as const;
  return createQuoteIssuer(stack, key).issue({ ...route, ...terms });
}

/** The body that cancels a maker's orders by their salts. @param signer signs instead of the maker */
export function bySalts({ sign }: RequestMaker, items: readonly SignedItem[], maker: BaseWallet, signer = maker) {
  const body = { maker: maker.address, salts: items.map(({ order }) => order.salt), untilMs: Date.now() };
  const digest = TypedDataEncoder.hash(typedDataDomain(sign.domain), cancelBySaltRequestTypes, body);
  return { ...body, signature: signer.signingKey.sign(digest).serialized };
}

type HashRead = (request: { readonly issuedAt: bigint; readonly salt: Uint8Array }) => Uint8Array;

/** Signs orders and cancellations in the domain of a stack. */
function createSigner({ serviceName, chainId, limitOrderProtocol }: StackFile) {
  const domain = { serviceName, chainId, verifyingContract: lower(limitOrderProtocol) };
  const hasher = createOrderHasher(domain);
  const hashers = createRequestHashers(domain);
  const amountOf = ({ token, amount }: OrderTerms['making']) => ({ token: lower(token), amount: BigInt(amount) });
  const digestOf = (order: OrderTerms) =>
    hasher.hashOrder({
      salt: BigInt(order.salt),
      nonce: BigInt(order.nonce),
      expiresAt: BigInt(order.expiresAt),
      making: amountOf(order.making),
      taking: amountOf(order.taking),
      maker: lower(order.maker),
      permittedTaker: lower(order.permittedTaker),
    });
  return {
    domain,
    hashers,
    /** @throws Error if it is no order */
    hashOrder: (order: OrderTerms): string => bytesToHex(digestOf(order)),
    signOrder: (wallet: BaseWallet, order: OrderTerms) => signDigest(wallet, digestOf(order)),
    signCancellation(wallet: BaseWallet, orderHash: string, salt: string) {
      const saltBytes = hexToBytes(toBeHex(BigInt(salt), 32) as Hex);
      const request = { orderHash: hexToBytes(orderHash as Hex), salt: saltBytes };
      return signDigest(wallet, hashers.hashCancellation(request, 'uint256'));
    },
  };
}

function signDigest(wallet: BaseWallet, digest: Uint8Array): string {
  return wallet.signingKey.sign(digest).serialized;
}

function lower(address: string): Address {
  return address.toLowerCase() as Address;
}

export const json = { 'Content-Type': 'application/json' };

type Placed = Pick<SignedItem, 'order' | 'signature'>;
const bodyOf = ({ order, signature }: Placed) => ({ order, signature });

function posting(path: string, body: unknown): Asked {
  return { method: 'POST', target: `${ORDERS_PATH}${path}`, headers: json, body: JSON.stringify(body) };
}

export function cancelling(pairs: readonly (readonly [orderHash: string, signature: string])[], more = ''): Asked {
  const [hashes, signatures] = [0, 1].map((at) => pairs.map((pair) => pair[at]).join(','));
  return { method: 'DELETE', target: `${ORDERS_PATH}?orderHashes=${hashes}&signatures=${signatures}${more}` };
}

export function asCancellations({ target }: Asked): Asked {
  const query = new URLSearchParams(target.split('?')[1]);
  const [hashes = [], signatures = []] = ['orderHashes', 'signatures'].map((name) => query.get(name)?.split(','));
  const items = hashes.map((orderHash, n) => ({ orderHash, signature: signatures[n] }));
  return { method: 'POST', target: CANCELLATIONS_PATH, headers: json, body: JSON.stringify(items) };
}

export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

/** The request on the wire. @param more headers besides its own */
export function bytesOf({ method, target, headers, body }: Asked, more: Readonly<Record<string, string>> = {}): Buffer {
  return requestBytes(method, target, { ...headers, ...more }, body);
}
