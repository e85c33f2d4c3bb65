import { hexToBytes, type RequestHashers } from '@makerbook/contracts-evm';
import {
  accountQuery,
  type Happening,
  HISTORY_PAGE_MAX,
  historyQuery,
  orderParams,
  orderQuery,
  ordersQuery,
  streamHeaders,
  streamQuery,
} from '@makerbook/contracts-http';
import { type Hex, quantity } from '@makerbook/contracts-primitives';
import { type ApiRequest, isRefusal, parseAs, type Refusal, readQuery } from '@makerbook/http';
import type { SignedRequest } from './answer-signed.js';
import { type Cursor, parseCursor } from './cursor.js';
import { type Moment, momentOf } from './find-moment.js';
import type { ListFilter } from './read-list.js';

/** The part of the history that a request asks for. */
export interface HistoryPart {
  readonly happened: readonly Happening[] | undefined;
  /** Minimal hex. */
  readonly salt?: Hex | undefined;
  /** Milliseconds since 1970. */
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
  readonly entriesMax: number;
  readonly after: Cursor | undefined;
}

/** A request for a list. It asks for all of it, unless it has a limit, a filter or a cursor. */
export type ListRequest = SignedRequest & {
  readonly ordersMax: number | undefined;
  readonly only: ListFilter | undefined;
  readonly after: Cursor | undefined;
};

/** A request for one order. */
export type OrderRequest = SignedRequest & { readonly orderHash: Hex; readonly at: Moment | undefined };

/** Reads the parameters of a GET of a list. */
export function parseListRequest(
  query: URLSearchParams,
  { hashGetRequest }: Pick<RequestHashers, 'hashGetRequest'>,
): ListRequest | Refusal {
  const asked = readQuery(query, ordersQuery);
  if (isRefusal(asked)) return asked;
  const { limit, cursor, making, taking, status } = asked;
  const orderSalt = asked.orderSalt && quantity(BigInt(asked.orderSalt));
  const isPicked = [orderSalt, making, taking, status].some((one) => one !== undefined);
  return {
    ...signedBy(asked, 'list', hashGetRequest),
    ordersMax: limit,
    only: isPicked ? { orderSalt, making, taking, status } : undefined,
    after: cursor === undefined ? undefined : parseCursor(cursor),
  };
}

/** Reads the parameters of a GET of the account. */
export function parseAccountRequest(
  query: URLSearchParams,
  { hashAccountRequest }: Pick<RequestHashers, 'hashAccountRequest'>,
): SignedRequest | Refusal {
  const asked = readQuery(query, accountQuery);
  return isRefusal(asked) ? asked : signedBy(asked, 'list', hashAccountRequest);
}

/** A request for a stream, and the event behind which it resumes. */
export type AskedStream = SignedRequest & {
  readonly after: { readonly id: string; readonly cursor: Cursor } | undefined;
};

/** Reads path and parameters of a GET of one order. */
export function parseOrderRequest(
  { params, query }: Pick<ApiRequest, 'params' | 'query'>,
  { hashOrderRequest }: Pick<RequestHashers, 'hashOrderRequest'>,
): OrderRequest | Refusal {
  const path = parseAs(orderParams, params);
  if (isRefusal(path)) return path;
  const asked = readQuery(query, orderQuery);
  if (isRefusal(asked)) return asked;
  const orderHash = path.orderHash.toLowerCase() as Hex;
  const at = asked.at === undefined ? undefined : momentOf(asked.at);
  const hash: Hash = (dated) => hashOrderRequest({ orderHash: hexToBytes(orderHash), ...dated });
  return { ...signedBy(asked, 'history', hash), orderHash, at };
}

/** Reads the parameters of a GET of the history. */
export function parseHistoryRequest(
  query: URLSearchParams,
  { hashHistoryRequest }: Pick<RequestHashers, 'hashHistoryRequest'>,
): (SignedRequest & { readonly part: HistoryPart }) | Refusal {
  const asked = readQuery(query, historyQuery);
  if (isRefusal(asked)) return asked;
  const { happened, orderSalt, fromMs, toMs, limit = HISTORY_PAGE_MAX, cursor } = asked;
  const part = {
    happened,
    salt: orderSalt && quantity(BigInt(orderSalt)),
    fromMs,
    toMs,
    entriesMax: limit,
    after: cursor === undefined ? undefined : parseCursor(cursor),
  };
  return { ...signedBy(asked, 'history', hashHistoryRequest), part };
}

/** Reads the parameters of a GET of a stream. */
export function parseStreamRequest(
  { query, headers }: Pick<ApiRequest, 'query' | 'headers'>,
  { hashStreamRequest }: Pick<RequestHashers, 'hashStreamRequest'>,
): AskedStream | Refusal {
  const asked = readQuery(query, streamQuery);
  if (isRefusal(asked)) return asked;
  const named = parseAs(streamHeaders, { 'Last-Event-ID': headers['last-event-id'] });
  if (isRefusal(named)) return named;
  const { cursor = named['Last-Event-ID'] } = asked;
  return {
    ...signedBy(asked, 'stream', hashStreamRequest),
    after: cursor === undefined ? undefined : { id: cursor, cursor: parseCursor(cursor) },
  };
}

type Hash = RequestHashers['hashGetRequest'];

/** The part that every signed query has. */
function signedBy(
  {
    issuedAt,
    signature,
    maker,
    ...given
  }: Pick<SignedRequest, 'issuedAt' | 'salt' | 'signature'> & { readonly maker?: Hex | undefined },
  reads: SignedRequest['reads'],
  hash: Hash,
): SignedRequest {
  const salt: Hex = `0x${given.salt.slice(2).toLowerCase().padStart(64, '0')}`;
  return { issuedAt, salt, signature, maker, reads, digest: () => hash({ issuedAt, salt: hexToBytes(salt) }) };
}
