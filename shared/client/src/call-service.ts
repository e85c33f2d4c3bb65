import { problem } from '@makerbook/contracts-http';
import { z } from 'zod';
import { MakerbookError } from './errors.js';

export interface CallOptions {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  /** A call that has no whole answer by then counts as `unreachable`. */
  readonly timeoutMs: number;
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE' | 'PATCH';
  readonly path: string;
  readonly query?: URLSearchParams;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A successful answer, as text. */
export interface Answer {
  readonly text: string;
  readonly headers: Headers;
}

/** Sends one request. @throws MakerbookError for every answer but 200, and where none comes */
export async function callService(call: Call, { baseUrl, timeoutMs }: CallOptions): Promise<Answer> {
  const { method, path, query, body, headers = {} } = call;
  const url = `${baseUrl}${path}${query === undefined ? '' : `?${query}`}`;
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method,
      signal: AbortSignal.timeout(timeoutMs),
      headers: { ...headers, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    text = await response.text();
  } catch (cause) {
    const isTimeout = cause instanceof Error && cause.name === 'TimeoutError';
    const detail = isTimeout ? `no answer within ${timeoutMs} ms` : `no answer from ${baseUrl}: ${reasonOf(cause)}`;
    throw new MakerbookError({ code: 'unreachable', status: 0, detail, retryable: true, cause });
  }
  if (response.status === 200) return { text, headers: response.headers };
  throw errorOf(response, text);
}

/** JSON of an answer, as its schema knows it. @throws MakerbookError `unreadable` for anything else */
export function readAnswer<T>(text: string, schema: { parse: (value: unknown) => T }): T {
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    const detail = `the answer is not what the service sends: ${reasonOf(cause)}`;
    throw new MakerbookError({ code: 'unreadable', status: 200, detail, retryable: false, cause });
  }
}

/** A newer service may have codes that this client does not know. */
const anyProblem = problem.extend({ code: z.string() });

function errorOf(response: Response, text: string): MakerbookError {
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfterSeconds = Number.isFinite(retryAfter) ? retryAfter : undefined;
  const parsed = anyProblem.safeParse(parseJson(text));
  if (parsed.success) return new MakerbookError({ ...parsed.data, retryAfterSeconds });
  // The answer of a gateway in front of a service that is away.
  const { status } = response;
  const retryable = status >= 500 || status === 429;
  return new MakerbookError({
    code: 'unreadable',
    status,
    detail: `HTTP ${status} without a problem of the service`,
    retryable,
    retryAfterSeconds,
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
