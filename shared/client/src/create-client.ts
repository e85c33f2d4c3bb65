import type {
  Account,
  CancelKeysAnswer,
  Cancellation,
  CancelledAll,
  FillCapAnswer,
  HeartbeatAnswer,
  LimitOrderRecord,
  OrderHistory,
  OrderReport,
  Replacement,
} from '@makerbook/contracts-http';
import { paths } from '@makerbook/contracts-http/paths';
import {
  type Address,
  type Hex,
  readAddress,
  readBytes,
  readFields,
  readPrivateKey,
  readServiceUrl,
  readUint256,
  readWhole,
  type Uint256,
  type Whole,
  WrongValue,
  ZERO_ADDRESS,
} from '@makerbook/contracts-primitives';
import { hexlify, randomBytes, type Signer, Wallet } from 'ethers';
import { type Answer, callService, readData } from './call-service.js';
import { type CancelAllScope, createExits, type FillCap, type Readers } from './cancel-all.js';
import { type AwaitedCancellations, createCancel, type WaitOptions } from './cancel-orders.js';
import { followClock } from './follow-clock.js';
import { createPlace, type PlaceOptions } from './place-orders.js';
import { createReads, type FindOptions, type HistoryRequest, type ListFilter, type OrderList } from './read-orders.js';
import { type RetryOptions, retry } from './retry-calls.js';
import { createRequestSigner, type DomainOptions, readDomain, type TypedData } from './sign-requests.js';
import { createStream, type OrderEvent, type StreamOptions } from './stream-orders.js';
import {
  type OrderDraft,
  type OrderToCancel,
  type OrderToReplace,
  readDraft,
  type SaltsToCancel,
  type SaltsToReplace,
  type SignedOrder,
} from './take-orders.js';
import { type Receipt, readReceipt } from './verify-receipts.js';

/** `chainId`, `serviceName` and `limitOrderProtocol` make the EIP-712 domain: `/info` has them. */
export interface ClientOptions extends DomainOptions {
  /** `https://…`, without the paths of the interface. */
  readonly baseUrl: string;
  /** The maker: a signer of ethers, or a private key. */
  readonly signer: Signer | string;
  /** The maker, if another address signs: for a contract wallet, or by a key that may cancel or read for the maker. */
  readonly maker?: string;
  /** The local clock, in milliseconds since 1970. Requests are signed by the service's. Default `Date.now`. */
  readonly now?: () => number;
  /** Draws 32 random bytes. Default: as ethers does. */
  readonly randomSalt?: () => Uint8Array;
  /** Default 10000. */
  readonly timeoutMs?: number;
  /** Retries what is `retryable`. If left out, every call is tried once. */
  readonly retry?: RetryOptions;
  /** Sends the requests. Default: the platform's `fetch`. */
  readonly fetch?: typeof fetch;
  /** Called with what is about to be signed, and its EIP-712 digest. */
  readonly onSign?: (data: TypedData, digest: Hex) => void;
  /**
   * With it, every request that stores something asks for a receipt. Verify the receipt by `verifyReceipt`, and keep
   * it. If the callback fails, the call fails with `receipt_not_kept` and `mayHaveHappened`.
   */
  readonly onReceipt?: (receipt: Receipt) => void | Promise<void>;
}

/**
 * The service, for one maker. A call throws WrongValue, which names the field, before it signs or sends a value that
 * makes no sense. It throws MakerbookError if the service refuses or does not answer.
 */
export interface MakerbookClient {
  /** The maker's address, lowercase. */
  maker(): Promise<Address>;
  /** The service's clock, in milliseconds since 1970, as its answers tell it. */
  serverTimeMs(): Promise<number>;
  signOrder(draft: OrderDraft): Promise<SignedOrder>;
  /** POST: stores all of the orders, or none. */
  placeOrders(orders: readonly SignedOrder[], options?: PlaceOptions): Promise<LimitOrderRecord[]>;
  /** GET: the maker's open orders, oldest first. Filters them by salt, token, pair or status. */
  listOrders(only?: ListFilter): Promise<OrderList>;
  /** GET …/account: limits, remaining budgets, and the keys, switch and caps in force, as of a position. */
  readAccount(): Promise<Account>;
  /** GET …/{orderHash}: what became of an order that was ever accepted, up to now or up to a moment. */
  findOrder(orderHash: string, options?: FindOptions): Promise<OrderReport>;
  /** GET …/history: what happened to the maker's orders, oldest first. */
  readHistory(asked?: HistoryRequest): Promise<OrderHistory>;
  /** GET …/stream: the list, then each change as it happens. Reconnects by itself. */
  streamOrders(options?: StreamOptions): AsyncGenerator<OrderEvent>;
  /**
   * POST …/cancellations: takes orders from the service. They stay valid on the chain. Name an order by itself, by its
   * record, or by its hash and its salt. Or name salts, to cancel all orders that have them. The answer then names each
   * order, except those that an earlier try cancelled if its answer was lost.
   */
  cancelOrders(orders: readonly OrderToCancel[] | SaltsToCancel): Promise<Cancellation[]>;
  /** The same. Waits until the orders are out of the router's feed, or seen by routers, or the seconds are over. */
  cancelOrdersAndWait(
    orders: readonly OrderToCancel[] | SaltsToCancel,
    waitSeconds: Whole,
    options?: WaitOptions,
  ): Promise<AwaitedCancellations>;
  /**
   * POST …/replacements: cancels orders and places others instead, all or nothing. Fails with `not_found` if an order
   * to cancel is no longer open. Fails with `remaining_changed` if another amount of it is left, which `problem` names.
   */
  replaceOrders(
    gone: readonly OrderToReplace[] | SaltsToReplace,
    orders: readonly SignedOrder[],
    options?: PlaceOptions,
  ): Promise<Replacement>;
  /** POST …/cancel-all: takes back all orders, or those of some tokens. */
  cancelAll(scope?: CancelAllScope): Promise<CancelledAll>;
  /**
   * POST …/heartbeat: cancels all orders at `cancelAt`, unless another heartbeat comes first.
   * @param cancelAt Unix seconds; 0 turns the switch off
   */
  sendHeartbeat(cancelAt: Whole): Promise<HeartbeatAnswer>;
  /** POST …/cancel-keys: lets only these addresses cancel for the maker, and only the readers read for it. */
  nameCancelKeys(keys: readonly string[], readers?: Readers): Promise<CancelKeysAnswer>;
  /**
   * POST …/fill-cap: if more than the cap is filled within a window, the maker's orders that sell the token leave the
   * router's feed until the window has passed, or the cap is set again.
   */
  setFillCap(cap: FillCap): Promise<FillCapAnswer>;
  /** PATCH: the transaction data with another minimum output. */
  patchQuote(request: { readonly data: string; readonly minOutput: Uint256 }): Promise<Hex>;
}

const TIMEOUT_MS = { unit: 'milliseconds', min: 1, max: 3_600_000 };

/** @throws WrongValue for an option that makes no sense; no error shows a key */
export function createClient(options: ClientOptions): MakerbookClient {
  const { now = Date.now, randomSalt = () => randomBytes(32), onReceipt } = readFields('options', options);
  const baseUrl = readServiceUrl('baseUrl', options.baseUrl);
  const timeoutMs = readWhole('timeoutMs', options.timeoutMs ?? 10_000, TIMEOUT_MS);
  const signer = readSigner(options.signer);
  const signing = createRequestSigner(signer, readDomain(options), options.onSign);
  // While query is down, ingress tells the time.
  const askIngress = () => callService({ method: 'OPTIONS', path: paths.limitOrders }, calling);
  const clock = followClock(now, () => callService({ method: 'GET', path: paths.info }, calling).catch(askIngress));
  const calling = {
    baseUrl,
    timeoutMs,
    fetch: async (...call: Parameters<typeof fetch>) => {
      const response = await (options.fetch ?? fetch)(...call);
      clock.hear(response.headers);
      return response;
    },
    onAnswer:
      onReceipt &&
      (async (answer: Answer) => {
        const receipt = readReceipt(answer, options);
        if (receipt !== undefined) await onReceipt(receipt);
      }),
  };
  const again = <T>(work: () => Promise<T>): Promise<T> => retry(work, options.retry ?? { attemptsMax: 1 });
  const named = options.maker === undefined ? {} : { maker: readAddress('maker', options.maker) };
  const maker = async () => named.maker ?? readAddress('signer', await signer.getAddress());
  const storing = { signing, calling, again, clock, maker };
  const cancel = createCancel(storing);
  const reads = createReads({ signing, calling, named, again, clock, randomSalt });

  return {
    maker,

    serverTimeMs: clock.nowMs,

    async signOrder(given) {
      const { salt = BigInt(hexlify(randomSalt())), ...draft } = readDraft(readFields('order', given));
      return signing.signOrder({ ...draft, salt, maker: await maker(), permittedTaker: ZERO_ADDRESS });
    },

    ...createPlace(storing, reads),

    streamOrders: createStream({ signing, calling, named, clock, randomSalt }),

    ...reads,

    cancelOrders: async (orders) => (await cancel(orders, 0)).cancellations,

    cancelOrdersAndWait: cancel,

    ...createExits(storing),

    async patchQuote({ data, minOutput }) {
      const amount = readUint256('minOutput', minOutput).toString();
      const body = { data: readBytes('data', data), minOutput: { amount } };
      return again(async () => {
        return readData(await callService({ method: 'PATCH', path: paths.quoteData, body }, calling));
      });
    },
  };
}

function readSigner(signer: Signer | string): Signer {
  if (typeof signer === 'string') return new Wallet(readPrivateKey('signer', signer));
  if (typeof signer?.getAddress === 'function' && typeof signer.signTypedData === 'function') return signer;
  throw new WrongValue('signer', 'must be a private key, or a signer of ethers');
}
