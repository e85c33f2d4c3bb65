import {
  getAccountRequestTypes,
  getLimitOrderHistoryRequestTypes,
  getLimitOrderRequestTypes,
  getLimitOrdersRequestTypes,
} from '@makerbook/contracts-evm/typed-data';
import type { Account, Happening, LimitOrderRecord, OrderHistory, OrderReport } from '@makerbook/contracts-http';
import { paths } from '@makerbook/contracts-http/paths';
import {
  type Hex,
  quantity,
  readAddress,
  readArray,
  readFields,
  readHex,
  readUint256,
  readWhole,
  type Uint256,
  UNIX_MS,
  type Whole,
} from '@makerbook/contracts-primitives';
import { hexlify } from 'ethers';
import { type Answer, type CallOptions, callService, readList, readObject } from './call-service.js';
import type { ServiceClock } from './follow-clock.js';
import type { ReadMessage, RequestSigner, Structs } from './sign-requests.js';

/** A maker's list, and how many of the maker's own writes it does not show yet: 0 unless the service is behind. */
export interface OrderList {
  readonly records: LimitOrderRecord[];
  readonly readLag: number | 'unknown';
}

/** Filters the list: an order must match every field given. */
export interface ListFilter {
  /** The salt that the maker gave the orders. Several may share it. */
  readonly orderSalt?: Uint256;
  /** The token that the orders sell. */
  readonly making?: string;
  /** The token that the orders want. */
  readonly taking?: string;
  readonly status?: readonly LimitOrderRecord['status'][];
}

/** Selects a part of the history. Default: all that is kept. */
export interface HistoryRequest {
  readonly happened?: readonly Happening[];
  /** Only orders with this salt. */
  readonly orderSalt?: Uint256;
  /** Milliseconds since 1970. */
  readonly fromMs?: Whole;
  readonly toMs?: Whole;
  /** Entries of the page, at most 100. */
  readonly limit?: number;
  /** The `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** `at`: report the order as it was at the end of a block, or after the fact at a `position`. */
export interface FindOptions {
  readonly at?: number | string;
}

interface ReadParts {
  readonly signing: Pick<RequestSigner, 'signRead'>;
  readonly calling: CallOptions;
  /** The maker, if another address signs. */
  readonly named: { readonly maker?: string };
  readonly again: <T>(work: () => Promise<T>) => Promise<T>;
  readonly clock: ServiceClock;
  readonly randomSalt: () => Uint8Array;
}

/** Bounds the entries of a page of the history. */
const ENTRIES = { unit: 'entries', min: 1, max: 100 };

/** Signs the query of one try. Each try needs its own salt: the service takes a salt once. */
export async function signQuery(
  { signing, clock, randomSalt }: Pick<ReadParts, 'signing' | 'clock' | 'randomSalt'>,
  structs: Structs,
  of: Omit<ReadMessage, 'issuedAt'> = {},
) {
  // Go back a second because the clocks of the instances differ.
  const issuedAt = BigInt(Math.floor((await clock.nowMs()) / 1000) - 1);
  const salt = hexlify(randomSalt()) as Hex;
  return { issuedAt: String(issuedAt), salt, signature: await signing.signRead(structs, salt, { ...of, issuedAt }) };
}

export type OrderReads = ReturnType<typeof createReads>;

/** The signed GETs. */
export function createReads({ calling, named, again, ...parts }: ReadParts) {
  const read = (
    path: string,
    structs: Structs,
    rest: Readonly<Record<string, string>> = {},
    of: Omit<ReadMessage, 'issuedAt'> = {},
  ): Promise<Answer> =>
    again(() =>
      parts.clock.signed(async () => {
        const query = new URLSearchParams({ ...(await signQuery(parts, structs, of)), ...named, ...rest });
        return callService({ method: 'GET', path, query }, calling);
      }),
    );
  return {
    async listOrders(only: ListFilter = {}): Promise<OrderList> {
      const { orderSalt, making, taking, status } = readFields('only', only);
      const answer = await read(paths.limitOrders, getLimitOrdersRequestTypes, {
        ...(orderSalt !== undefined && { orderSalt: quantity(readUint256('orderSalt', orderSalt)) }),
        ...(making !== undefined && { making: readAddress('making', making) }),
        ...(taking !== undefined && { taking: readAddress('taking', taking) }),
        ...(status !== undefined && { status: readArray('status', status).join(',') }),
      });
      const lag = answer.headers.get('x-read-lag');
      return { records: readList(answer), readLag: lag === null ? 0 : lag === 'unknown' ? lag : Number(lag) };
    },

    async readAccount(): Promise<Account> {
      return readObject(await read(paths.account, getAccountRequestTypes));
    },

    async readHistory(asked: HistoryRequest = {}): Promise<OrderHistory> {
      const { happened, orderSalt, fromMs, toMs, limit, cursor } = readFields('asked', asked);
      const rest = {
        ...(happened !== undefined && { happened: readArray('happened', happened).join(',') }),
        ...(orderSalt !== undefined && { orderSalt: quantity(readUint256('orderSalt', orderSalt)) }),
        ...(fromMs !== undefined && { fromMs: String(readWhole('fromMs', fromMs, UNIX_MS)) }),
        ...(toMs !== undefined && { toMs: String(readWhole('toMs', toMs, UNIX_MS)) }),
        ...(limit !== undefined && { limit: String(readWhole('limit', limit, ENTRIES)) }),
        ...(cursor !== undefined && { cursor }),
      };
      return readObject(await read(paths.history, getLimitOrderHistoryRequestTypes, rest));
    },

    async findOrder(hash: string, { at }: FindOptions = {}): Promise<OrderReport> {
      const orderHash = readHex('orderHash', hash, 32);
      const path = paths.limitOrder.replace('{orderHash}', orderHash);
      const rest = at === undefined ? {} : { at: String(at) };
      return readObject(await read(path, getLimitOrderRequestTypes, rest, { orderHash }));
    },
  };
}
