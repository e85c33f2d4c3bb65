import { type Problem, type ProblemCode, type ProblemText, problemBody, problemKinds } from '@makerbook/contracts-http';

/** What a route is given of a request. */
export interface ApiRequest {
  /** Also in the answer's `X-Request-Id` and in every problem. Taken from the request where it is well-formed there. */
  readonly requestId: string;
  /** When the head of the request was here, in milliseconds since 1970. */
  readonly receivedAtMs: number;
  /** The client's address, as its limits have it. */
  readonly client: string;
  readonly query: URLSearchParams;
  /** The parsed JSON; undefined on a route without a body. */
  readonly body: unknown;
}

/** Extra header fields. `RateLimit` and `RateLimit-Policy` join those of the limit per client. */
export type ReplyHeaders = Readonly<Record<string, string>>;

/** An answer with status 200. */
export interface Success {
  readonly body: string | Buffer;
  readonly contentType: string;
  readonly headers?: ReplyHeaders;
}

/** An error answer: a code of the interface and a sentence about what to do next. */
export interface Refusal extends ProblemText {
  readonly code: ProblemCode;
  readonly headers?: ReplyHeaders;
}

export type Reply = Success | Refusal;

/** Distinguishes a refusal from the result of a step that succeeded. */
export function isRefusal(result: object): result is Refusal {
  return 'code' in result && 'detail' in result;
}

const json = 'application/json; charset=utf-8';

/** 200 with a JSON body that is serialised already. */
export function okJson(body: string | Buffer, headers?: ReplyHeaders): Success {
  return headers === undefined ? { body, contentType: json } : { body, contentType: json, headers };
}

/** 200 with a bare text. */
export function okText(body: string, headers?: ReplyHeaders): Success {
  const contentType = 'text/plain; charset=utf-8';
  return headers === undefined ? { body, contentType } : { body, contentType, headers };
}

/** A reply as it goes over the wire. */
export interface WireReply {
  readonly status: number;
  readonly contentType: string;
  readonly headers: ReplyHeaders;
  readonly body: string | Buffer;
}

/** Status, content type and body of a reply: the one place where a problem becomes bytes (RFC 9457). */
export function toWire(reply: Reply, requestId: string): WireReply {
  if (!isRefusal(reply)) {
    return { status: 200, contentType: reply.contentType, headers: reply.headers ?? {}, body: reply.body };
  }
  const { code, headers = {}, ...text } = reply;
  const problem: Problem = problemBody(code, text, requestId);
  return {
    status: problemKinds[code].status,
    contentType: 'application/problem+json; charset=utf-8',
    headers,
    body: JSON.stringify(problem),
  };
}
