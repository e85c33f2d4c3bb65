import { deployArtifacts } from '@makerbook/contracts-evm';
import type { StackFile } from '@makerbook/local-stack';
import {
  type BaseWallet,
  concat,
  hexlify,
  Interface,
  randomBytes,
  TypedDataEncoder,
  toBeHex,
  Wallet,
  ZeroAddress,
} from 'ethers';
import { requestBytes } from './raw-http.js';
import { type OrderTerms, signWithEthers } from './sign-with-ethers.js';

export interface Asked {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** An item of a POST, and the hash that it is to get. */
export interface SignedItem {
  readonly order: OrderTerms;
  readonly signature: string;
  readonly orderHash: string;
}

/** What a maker says of all its orders. */
export type ExitKind = 'cancel-all' | 'heartbeat' | 'cancel-keys' | 'fill-cap';

export const ORDERS_PATH = '/v0alpha/limit-orders';
export const CANCELLATIONS_PATH = '/v0alpha/limit-orders/cancellations';
export const QUOTE_PATH = '/v0/quote/data';

/** The account whose quotes the local stack takes: number 9 of the well-known test accounts of anvil. */
const quoteWallet = new Wallet('0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6');

export type RequestMaker = ReturnType<typeof requestMaker>;

/** Requests of makers, made from the interface's words alone: with ethers, and with nothing of the service's own. */
export function requestMaker(stack: StackFile) {
  const sign = signWithEthers(stack);
  const [making = ZeroAddress, taking = ZeroAddress] = stack.tokens.map(({ address }) => address);
  /** Issued a second ago, unless given. */
  const reading = (path: string, signWith: (issuedAt: number, salt: string) => string, issuedAt = nowSeconds() - 1) => {
    const salt = hexlify(randomBytes(32));
    const query = { issuedAt: String(issuedAt), salt, signature: signWith(issuedAt, salt) };
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
    list: (maker: BaseWallet, at?: number) => reading('', (...words) => sign.signList(maker, ...words), at),
    find: (maker: BaseWallet, orderHash: string, at?: number) =>
      reading(`/${orderHash}`, (...words) => sign.signOrderRequest(maker, orderHash, ...words), at),
    stream: (maker: BaseWallet, at?: number) => reading('/stream', (...words) => sign.signStream(maker, ...words), at),
    history: (maker: BaseWallet, at?: number) =>
      reading('/history', (...words) => sign.signHistory(maker, ...words), at),
    /** POST …/cancel-all of one token, …/heartbeat, …/cancel-keys and …/fill-cap. @param more is not signed */
    exit(kind: ExitKind, wallet: BaseWallet, more: object = {}, signer = wallet): Asked {
      const maker = wallet.address;
      const issuedAtMs = Date.now();
      const [type, body] = {
        'cancel-all': [
          'CancelAllRequest(address maker,address making,address taking,uint256 untilMs)',
          { maker, making, untilMs: issuedAtMs },
        ] as const,
        heartbeat: [
          'HeartbeatRequest(address maker,uint256 cancelAt,uint256 issuedAtMs)',
          { maker, cancelAt: nowSeconds() + 30, issuedAtMs },
        ] as const,
        'cancel-keys': [
          'CancelKeysRequest(address maker,address[] keys,uint256 issuedAtMs)',
          { maker, keys: [] as string[], issuedAtMs },
        ] as const,
        'fill-cap': [
          'FillCapRequest(address maker,address token,uint256 amount,uint256 windowSeconds,uint256 issuedAtMs)',
          { maker, token: making, amount: '0x64', windowSeconds: 60, issuedAtMs },
        ] as const,
      }[kind];
      const values: unknown[] = Object.values(body);
      if (kind === 'cancel-all') values.splice(2, 0, ZeroAddress);
      const signature = sign.signMessage(signer, type, values);
      return posting(`/${kind}`, { ...body, signature, ...more });
    },
    patch: (data: string, amount: unknown): Asked => ({
      method: 'PATCH',
      target: QUOTE_PATH,
      headers: json,
      body: JSON.stringify({ data, minOutput: { amount } }),
    }),
    /** `quote.tx.data` of a quote of version v0; without an assertion where `minOutput` is undefined. */
    quote: (change: Partial<QuoteTerms> = {}) =>
      quoteCall(stack, { deadline: 4_000_000_000n, minOutput: 1n, signer: quoteWallet, ...change }),
  };
}

interface QuoteTerms {
  readonly deadline: bigint;
  readonly minOutput: bigint | undefined;
  readonly signer: BaseWallet;
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

/** @param headers besides its own */
export function bytesOf({ method, target, headers, body }: Asked, more: Readonly<Record<string, string>> = {}): Buffer {
  return requestBytes(method, target, { ...headers, ...more }, body);
}

const navigator = new Interface(deployArtifacts.Navigator.abi);
const quoteTypes = {
  QuoteV0: [
    ...['tokenIn', 'amountIn', 'tokenOut', 'deadline'].map((name) => ({
      name,
      type: name.startsWith('token') ? 'address' : 'uint256',
    })),
    { name: 'route', type: 'bytes' },
    { name: 'minOutput', type: 'uint256[]' },
  ],
};

function quoteCall(stack: StackFile, { deadline, minOutput, signer }: QuoteTerms): string {
  const [tokenIn = ZeroAddress, tokenOut = ZeroAddress] = stack.tokens.map(({ address }) => address);
  const message = {
    ...{ tokenIn, amountIn: 1000n, tokenOut, deadline },
    route: concat([stack.pools[0]?.address ?? ZeroAddress]),
    minOutput: minOutput === undefined ? [] : [minOutput],
  };
  const domain = {
    name: `${stack.serviceName} Navigator`,
    version: 'v0',
    chainId: stack.chainId,
    verifyingContract: stack.navigator,
  };
  const signature = signer.signingKey.sign(TypedDataEncoder.hash(domain, quoteTypes, message)).serialized;
  return navigator.encodeFunctionData('swapQuoteV0', [message, message.route, message.minOutput, signature]);
}
