import type {
  Cancellation,
  CancelledAll,
  LimitOrderRecord,
  OrderHistory,
  OrderReport,
  Replacement,
} from '@makerbook/contracts-http';
import { paths } from '@makerbook/contracts-http/paths';
import { type Address, type Hex, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { hexlify, randomBytes, type Signer, Wallet } from 'ethers';
import { type Answer, callService } from './call-service.js';
import { type CancelAllScope, createExits, type FillCap } from './cancel-all.js';
import { type AwaitedCancellations, createCancel, type OrderToCancel, type WaitOptions } from './cancel-orders.js';
import { createPlace, type PlaceOptions } from './place-orders.js';
import { createReads, type FindOptions, type HistoryRequest, type OrderList } from './read-orders.js';
import { type RetryOptions, retry } from './retry-calls.js';
import { createRequestSigner, lowerHex, type SignedOrder, type TypedData } from './sign-requests.js';
import { createStream, type OrderEvent, type StreamOptions } from './stream-orders.js';
import { type Receipt, readReceipt } from './verify-receipts.js';

export interface ClientOptions {
  /** `https://…`, without the paths of the interface. */
  readonly baseUrl: string;
  /** The maker: a signer of ethers, or a private key. */
  readonly signer: Signer | Hex;
  /** The maker, where the signer is not: a contract wallet that accepts its signatures, or one for whom its key may cancel. */
  readonly maker?: string;
  /** These three make the EIP-712 domain: ask the operator. */
  readonly chainId: number | bigint;
  readonly serviceName: string;
  readonly limitOrderProtocol: string;
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
  /** 32 random bytes. Default those of ethers. */
  readonly randomSalt?: () => Uint8Array;
  /** Default 10000. */
  readonly timeoutMs?: number;
  /** Tries again what is `retryable`; left out, every call is tried once. */
  readonly retry?: RetryOptions;
  /** Sends the requests. Default that of the platform. */
  readonly fetch?: typeof fetch;
  /** Called with what is about to be signed, and its EIP-712 digest. */
  readonly onSign?: (data: TypedData, digest: Hex) => void;
  /** With it, every request that stores something asks for a receipt. Verify it by `verifyReceipt`, and keep it. */
  readonly onReceipt?: (receipt: Receipt) => void;
}

/** What a maker decides of an order; the rest is filled in. Amounts are in the token's smallest unit. */
export interface OrderDraft {
  readonly making: { readonly token: string; readonly amount: bigint };
  readonly taking: { readonly token: string; readonly amount: bigint };
  /** Unix seconds. */
  readonly expiresAt: number | bigint;
  /** The maker's cancel-all counter on the chain (`nonce` of the LimitOrderProtocol contract). Default 0. */
  readonly nonce?: bigint;
  /** Default: 32 random bytes. */
  readonly salt?: bigint;
}

/** The service, for one maker. Every call throws MakerbookError. */
export interface MakerbookClient {
  /** The maker's address, lowercase. */
  maker(): Promise<Address>;
  /** @throws RangeError where `expiresAt` is in milliseconds */
  signOrder(draft: OrderDraft): Promise<SignedOrder>;
  /** POST: all of them are stored, or none. */
  placeOrders(orders: readonly SignedOrder[], options?: PlaceOptions): Promise<LimitOrderRecord[]>;
  /** GET: the maker's open orders, oldest first. */
  listOrders(): Promise<OrderList>;
  /** GET …/{orderHash}: what became of an order that was ever accepted, up to now or up to a moment. */
  findOrder(orderHash: string, options?: FindOptions): Promise<OrderReport>;
  /** GET …/history: what happened to the maker's orders, oldest first. */
  readHistory(asked?: HistoryRequest): Promise<OrderHistory>;
  /** GET …/stream: the list, then each change as it happens; it connects again by itself. */
  streamOrders(options?: StreamOptions): AsyncGenerator<OrderEvent>;
  /**
   * POST …/cancellations: takes orders from the service; they stay valid on the chain. `salt` is the
   * order's own.
   */
  cancelOrders(orders: readonly OrderToCancel[]): Promise<Cancellation[]>;
  /** The same, answered when the orders are out of the router's feed, or seen by routers, or after so many seconds. */
  cancelOrdersAndWait(
    orders: readonly OrderToCancel[],
    waitSeconds: number,
    options?: WaitOptions,
  ): Promise<AwaitedCancellations>;
  /**
   * POST …/replacements: cancels orders and places others in their stead, all or nothing. `not_found` where one that is to go
   * is not open any more.
   */
  replaceOrders(
    gone: readonly OrderToCancel[],
    orders: readonly SignedOrder[],
    options?: PlaceOptions,
  ): Promise<Replacement>;
  /** POST …/cancel-all: takes back all orders, or those of some tokens. */
  cancelAll(scope?: CancelAllScope): Promise<CancelledAll>;
  /**
   * POST …/heartbeat: unless another one comes first, all orders are cancelled then.
   * @param cancelAt Unix seconds; 0 turns the switch off
   */
  sendHeartbeat(cancelAt: number): Promise<void>;
  /** POST …/cancel-keys: these addresses may cancel for the maker, and no others. */
  nameCancelKeys(keys: readonly string[]): Promise<void>;
  /**
   * POST …/fill-cap: where more than that is filled within a window, the maker's orders that sell the token leave the router's
   * feed until it has passed, or the cap is set again.
   */
  setFillCap(cap: FillCap): Promise<void>;
  /** PATCH: the transaction data with another minimum output. */
  patchQuote(request: { readonly data: string; readonly minOutput: string | bigint }): Promise<Hex>;
}

/** From 1973 to 5138, taken as milliseconds. As seconds these are times that nobody means. */
const isInMilliseconds = (time: number | bigint) => time >= 100_000_000_000 && time < 100_000_000_000_000;

export function createClient(options: ClientOptions): MakerbookClient {
  const { now = Date.now, randomSalt = () => randomBytes(32), timeoutMs = 10_000, onReceipt } = options;
  const signer = typeof options.signer === 'string' ? new Wallet(options.signer) : options.signer;
  const { serviceName, chainId } = options;
  const domain = { serviceName, chainId, verifyingContract: lowerHex(options.limitOrderProtocol, 20) };
  const signing = createRequestSigner(signer, domain, options.onSign);
  /** The greatest time of the service that an answer has told, and how far it was ahead of the clock here. */
  const told = { serverTimeMs: 0, aheadMs: 0 };
  const calling = {
    baseUrl: options.baseUrl.replace(/\/+$/, ''),
    timeoutMs,
    fetch: async (...call: Parameters<typeof fetch>) => {
      const response = await (options.fetch ?? fetch)(...call);
      const serverTimeMs = Number(response.headers.get('x-server-time') ?? Number.NaN);
      if (serverTimeMs > told.serverTimeMs) Object.assign(told, { serverTimeMs, aheadMs: serverTimeMs - now() });
      return response;
    },
    onAnswer:
      onReceipt &&
      ((answer: Answer) => {
        const receipt = readReceipt(answer, options);
        if (receipt !== undefined) onReceipt(receipt);
      }),
  };
  const again = <T>(work: () => Promise<T>): Promise<T> => retry(work, options.retry ?? { attemptsMax: 1 });
  const maker = async () => lowerHex(options.maker ?? (await signer.getAddress()), 20);
  const named = options.maker === undefined ? {} : { maker: options.maker };
  const cancel = createCancel({ signing, calling, again });
  /** Never before the clock of an instance that has answered: an order that it has accepted has that time. */
  async function serverNow(): Promise<number> {
    if (told.serverTimeMs === 0) await callService({ method: 'GET', path: paths.info }, calling).catch(() => undefined);
    return Math.max(told.serverTimeMs, Math.round(now() + told.aheadMs));
  }

  return {
    maker,

    async signOrder({ making, taking, expiresAt, nonce = 0n, salt }) {
      if (isInMilliseconds(expiresAt)) throw new RangeError(`expiresAt is Unix seconds, not ${expiresAt}`);
      return signing.signOrder({
        salt: salt ?? BigInt(hexlify(randomSalt())),
        nonce,
        expiresAt: BigInt(expiresAt),
        making: { token: lowerHex(making.token, 20), amount: making.amount },
        taking: { token: lowerHex(taking.token, 20), amount: taking.amount },
        maker: await maker(),
        permittedTaker: ZERO_ADDRESS,
      });
    },

    ...createPlace({ signing, calling, again }),

    streamOrders: createStream({ signing, calling, named, now, randomSalt }),

    ...createReads({ signing, calling, named, again, now, randomSalt }),

    cancelOrders: async (orders) => (await cancel(orders, 0)).cancellations,

    cancelOrdersAndWait: cancel,

    ...createExits({ signing, again, calling, now, serverNow, maker }),

    async patchQuote({ data, minOutput }) {
      const amount = typeof minOutput === 'bigint' ? minOutput.toString() : minOutput;
      return again(async () => {
        const body = { data, minOutput: { amount } };
        const { text } = await callService({ method: 'PATCH', path: paths.quoteData, body }, calling);
        return text as Hex;
      });
    },
  };
}
