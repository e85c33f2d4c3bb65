import { hexToBytes, type RequestHashers } from '@makerbook/contracts-evm';
import {
  type Happening,
  HISTORY_PAGE_MAX,
  historyQuery,
  listQuery,
  orderParams,
  orderQuery,
  streamHeaders,
  streamQuery,
} from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { type ApiRequest, isRefusal, parseAs, type Refusal, readQuery } from '@makerbook/http';
import type { SignedRequest } from './admit-request.js';
import { type Cursor, parseCursor } from './cursor.js';
import { type Moment, momentOf } from './find-moment.js';

/** What part of the history is asked for. */
export interface HistoryPart {
  readonly happened: readonly Happening[] | undefined;
  /** Milliseconds since 1970. */
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
  readonly entriesMax: number;
  readonly after: Cursor | undefined;
}

/** A request for a list, and the part of it that is asked for: all of it, unless there is a limit or a cursor. */
export type ListRequest = SignedRequest & {
  readonly ordersMax: number | undefined;
  readonly after: Cursor | undefined;
};

/** A request for one order. */
export type OrderRequest = SignedRequest & { readonly orderHash: Hex; readonly at: Moment | undefined };

/** Reads the parameters of a GET of a list. */
export function parseListRequest(
  query: URLSearchParams,
  { hashGetRequest }: Pick<RequestHashers, 'hashGetRequest'>,
): ListRequest | Refusal {
  const asked = readQuery(query, listQuery);
  if (isRefusal(asked)) return asked;
  const { issuedAt, signature, limit, cursor } = asked;
  const salt = normalSalt(asked.salt);
  const digest = () => hashGetRequest({ issuedAt, salt: hexToBytes(salt) });
  return {
    issuedAt,
    salt,
    signature,
    maker: asked.maker,
    digest,
    ordersMax: limit,
    after: cursor === undefined ? undefined : parseCursor(cursor),
  };
}

/** A request for a stream, and the event that it goes on behind. */
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
  const { issuedAt, signature } = asked;
  const salt = normalSalt(asked.salt);
  const at = asked.at === undefined ? undefined : momentOf(asked.at);
  const digest = () => hashOrderRequest({ orderHash: hexToBytes(orderHash), issuedAt, salt: hexToBytes(salt) });
  return { issuedAt, salt, signature, maker: asked.maker, digest, orderHash, at };
}

/** Reads the parameters of a GET of the history. */
export function parseHistoryRequest(
  query: URLSearchParams,
  { hashHistoryRequest }: Pick<RequestHashers, 'hashHistoryRequest'>,
): (SignedRequest & { readonly part: HistoryPart }) | Refusal {
  const asked = readQuery(query, historyQuery);
  if (isRefusal(asked)) return asked;
  const { issuedAt, signature, happened, fromMs, toMs, limit = HISTORY_PAGE_MAX, cursor } = asked;
  const salt = normalSalt(asked.salt);
  const digest = () => hashHistoryRequest({ issuedAt, salt: hexToBytes(salt) });
  const part = {
    happened,
    fromMs,
    toMs,
    entriesMax: limit,
    after: cursor === undefined ? undefined : parseCursor(cursor),
  };
  return { issuedAt, salt, signature, maker: asked.maker, digest, part };
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
  const { issuedAt, signature, cursor = named['Last-Event-ID'] } = asked;
  const salt = normalSalt(asked.salt);
  const digest = () => hashStreamRequest({ issuedAt, salt: hexToBytes(salt) });
  return {
    issuedAt,
    salt,
    signature,
    maker: asked.maker,
    digest,
    after: cursor === undefined ? undefined : { id: cursor, cursor: parseCursor(cursor) },
  };
}

function normalSalt(salt: Hex): Hex {
  return `0x${salt.slice(2).toLowerCase().padStart(64, '0')}`;
}
