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
import type { RequestSigner } from './sign-requests.js';

/** A maker's list, and how many of the maker's own writes it does not show yet: 0 unless the service is behind. */
export interface OrderList {
  readonly records: LimitOrderRecord[];
  readonly readLag: number | 'unknown';
}

/** The orders that are listed: all, or those that have all of this. */
export interface ListFilter {
  /** The salt that the maker gave them. There may be several. */
  readonly orderSalt?: Uint256;
  /** The token that they sell. */
  readonly making?: string;
  /** The token that they want. */
  readonly taking?: string;
  readonly status?: readonly LimitOrderRecord['status'][];
}

/** The part of the history that is asked for: all that is kept, unless it says otherwise. */
export interface HistoryRequest {
  readonly happened?: readonly Happening[];
  /** Of orders with this salt alone. */
  readonly orderSalt?: Uint256;
  /** Milliseconds since 1970. */
  readonly fromMs?: Whole;
  readonly toMs?: Whole;
  /** Entries, at most 100. */
  readonly limit?: number;
  /** The `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** What became of an order up to then: up to the end of a block, or up to the fact at a `position`. */
export interface FindOptions {
  readonly at?: number | string;
}

interface ReadParts {
  readonly signing: Pick<RequestSigner, 'signList' | 'signAccount' | 'signHistory' | 'signOrderRequest'>;
  readonly calling: CallOptions;
  /** The maker, where the signer is not. */
  readonly named: { readonly maker?: string };
  readonly again: <T>(work: () => Promise<T>) => Promise<T>;
  readonly clock: ServiceClock;
  readonly randomSalt: () => Uint8Array;
}

type Sign = (request: { readonly issuedAt: bigint; readonly salt: Hex }) => Promise<Hex>;

/** The signed part of a query. Each try is a request of its own: a salt is good for one. */
export async function signRead(sign: Sign, clock: ServiceClock, randomSalt: () => Uint8Array) {
  // A second back, for instances whose clocks differ.
  const issuedAt = BigInt(Math.floor((await clock.nowMs()) / 1000) - 1);
  const salt = hexlify(randomSalt()) as Hex;
  return { issuedAt: String(issuedAt), salt, signature: await sign({ issuedAt, salt }) };
}

const readTimeMs = (field: string, value: Whole | undefined) =>
  value === undefined ? undefined : readWhole(field, value, UNIX_MS);

export type OrderReads = ReturnType<typeof createReads>;

/** The signed GETs. */
export function createReads({ signing, calling, named, again, clock, randomSalt }: ReadParts) {
  const read = (path: string, sign: Sign, rest: Readonly<Record<string, string>> = {}): Promise<Answer> =>
    again(() =>
      clock.signed(async () => {
        const signed = await signRead(sign, clock, randomSalt);
        const query = new URLSearchParams({ ...signed, ...named, ...rest });
        return callService({ method: 'GET', path, query }, calling);
      }),
    );
  return {
    async listOrders(only: ListFilter = {}): Promise<OrderList> {
      const { orderSalt, making, taking, status } = readFields('only', only);
      const answer = await read(paths.limitOrders, signing.signList, {
        ...(orderSalt !== undefined && { orderSalt: quantity(readUint256('orderSalt', orderSalt)) }),
        ...(making !== undefined && { making: readAddress('making', making) }),
        ...(taking !== undefined && { taking: readAddress('taking', taking) }),
        ...(status !== undefined && { status: readArray('status', status).join(',') }),
      });
      const lag = answer.headers.get('x-read-lag');
      return { records: readList(answer), readLag: lag === null ? 0 : lag === 'unknown' ? lag : Number(lag) };
    },

    async readAccount(): Promise<Account> {
      return readObject(await read(paths.account, signing.signAccount));
    },

    async readHistory(asked: HistoryRequest = {}): Promise<OrderHistory> {
      const times = { fromMs: readTimeMs('fromMs', asked.fromMs), toMs: readTimeMs('toMs', asked.toMs) };
      const salt = asked.orderSalt === undefined ? undefined : quantity(readUint256('orderSalt', asked.orderSalt));
      const given = Object.entries({ ...asked, ...times, orderSalt: salt }).filter(([, value]) => value !== undefined);
      const rest = Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
      return readObject(await read(paths.history, signing.signHistory, rest));
    },

    async findOrder(hash: string, { at }: FindOptions = {}): Promise<OrderReport> {
      const orderHash = readHex('orderHash', hash, 32);
      const path = paths.limitOrder.replace('{orderHash}', orderHash);
      const rest = at === undefined ? {} : { at: String(at) };
      return readObject(await read(path, (request) => signing.signOrderRequest({ orderHash, ...request }), rest));
    },
  };
}
