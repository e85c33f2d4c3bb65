import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type Problem, type ProblemCode, type ProblemText, problemBody, problemKinds } from '@makerbook/contracts-http';

/** A request as a route gets it. */
export interface ApiRequest {
  /** The id in the answer's `X-Request-Id` and in every problem. Taken from the request if it has a well-formed one. */
  readonly requestId: string;
  /** When the head of the request arrived, by `performance.now()`. */
  readonly receivedAtMs: number;
  /** The client's address, as its limits count it. */
  readonly client: string;
  /** Charges the client's address for work that the length of the request does not show. */
  readonly charge: (units: number) => Promise<void>;
  /** The values of the path's `{names}`. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The parsed JSON; undefined on a route without a body. */
  readonly body: unknown;
  /** Notes the maker, or the reader, and the number of orders of the request, for its span and its line in the log. */
  readonly describe: (subject: Subject) => void;
}

/** The subject of a request, or who asks. */
export interface Subject {
  readonly maker?: string | undefined;
  readonly reader?: string;
  readonly orders?: number;
}

/** Extra header fields. `RateLimit` and `RateLimit-Policy` join those of the limit per client. */
export type ReplyHeaders = Readonly<Record<string, string>>;

/** An answer with status 200, or 302 if its headers have a `Location`. */
export interface Success {
  readonly body: string | Buffer;
  readonly contentType: string;
  readonly headers?: ReplyHeaders;
  /** Instead of 200, for a page that says that nothing is there. */
  readonly status?: 404;
  /** Writes the answer instead of `body`, for as long as it likes, and ends it. Not called for HEAD. */
  readonly stream?: (response: ServerResponse) => void;
}

/** An error answer: a code of the interface and a sentence about what to do next. */
export interface Refusal extends ProblemText {
  readonly code: ProblemCode;
  readonly headers?: ReplyHeaders;
  /** Replaces the code in metrics and spans, if the code does not tell an intended refusal from a failure. */
  readonly measuredAs?: string;
}

export type Reply = Success | Refusal;

/** Distinguishes a refusal from the result of a step that succeeded. */
export function isRefusal(result: object): result is Refusal {
  return 'code' in result && 'detail' in result;
}

/** 503: nothing was done. The same request may be sent again after a second, or after the given time. */
export function unavailable(detail: string, retryAfterSeconds?: number): Refusal {
  const headers = retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) };
  return { code: 'unavailable', detail, headers };
}

/** 500: a bug. */
export const internal: Refusal = {
  code: 'internal',
  detail: 'the request failed here; it is logged under its request id',
};

/** The id that the request brought, if it is well-formed; else a new one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}

/** 200 with a JSON body that is serialised already. */
export function okJson(body: string | Buffer, headers: ReplyHeaders = {}): Success {
  return { body, contentType: 'application/json; charset=utf-8', headers };
}

/** 200 with a bare text. */
export function okText(body: string, headers: ReplyHeaders = {}): Success {
  return { body, contentType: 'text/plain; charset=utf-8', headers };
}

/** Gives status, content type and body of a reply: the one place that turns a problem into bytes (RFC 9457). */
export function toWire(reply: Reply, requestId: string) {
  if (!isRefusal(reply)) {
    const { contentType, headers = {}, body, status = 200 } = reply;
    return { status: headers['Location'] === undefined ? status : 302, contentType, headers, body };
  }
  const { code, headers = {}, measuredAs: _, ...text } = reply;
  const problem: Problem = problemBody(code, text, requestId);
  const { status } = problemKinds[code];
  return {
    status,
    contentType: 'application/problem+json; charset=utf-8',
    // Caches would keep a 404 and a 405 otherwise. Nobody knows when a fault or an outage ends: retry after a second.
    headers: { 'Cache-Control': 'no-store', ...(status >= 500 && { 'Retry-After': '1' }), ...headers },
    body: JSON.stringify(problem),
  };
}
