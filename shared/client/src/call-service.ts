import type { Problem } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { MakerbookError } from './errors.js';

export interface CallOptions {
  /** The service's URL, without a slash at the end. */
  readonly baseUrl: string;
  /** A call that has no whole answer by then counts as `unreachable`. */
  readonly timeoutMs: number;
  readonly fetch: typeof fetch;
  /** Called with each answer to a POST. With it, each POST asks for a receipt. */
  readonly onAnswer?: ((answer: Answer) => unknown) | undefined;
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE' | 'PATCH' | 'OPTIONS';
  readonly path: string;
  readonly query?: URLSearchParams;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A successful answer, as text. */
export interface Answer {
  readonly call: Call;
  readonly text: string;
  readonly headers: Headers;
}

/** Sends one request. @throws MakerbookError for any status other than 200, and if no answer comes */
export async function callService(call: Call, options: CallOptions): Promise<Answer> {
  const onAnswer = call.method === 'POST' ? options.onAnswer : undefined;
  const asked = onAnswer === undefined ? call : { ...call, headers: preferReceipt(call.headers) };
  const response = await openCall(asked, options, AbortSignal.timeout(options.timeoutMs));
  const answer = { call, text: await orUnreachable(call, options, () => response.text()), headers: response.headers };
  try {
    await onAnswer?.(answer);
  } catch (cause) {
    const detail = `the request was done, but its receipt could not be kept: ${reasonOf(cause)}`;
    const outcome = { retryable: false, mayHaveHappened: true, cause };
    throw new MakerbookError({ code: 'receipt_not_kept', status: 200, detail, ...outcome });
  }
  return answer;
}

function preferReceipt(headers: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const { Prefer: prefer } = headers;
  return { ...headers, Prefer: prefer === undefined ? 'receipt' : `${prefer}, receipt` };
}

/** Sends one request. The caller reads the body of the answer. @throws as `callService` */
export async function openCall(call: Call, options: CallOptions, signal: AbortSignal): Promise<Response> {
  const { method, path, query, body, headers = {} } = call;
  const url = `${options.baseUrl}${path}${query === undefined ? '' : `?${query}`}`;
  const response = await orUnreachable(call, options, () =>
    options.fetch(url, {
      method,
      signal,
      headers: { ...headers, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  );
  if (response.status === 200) return response;
  throw errorOf(call, response, await orUnreachable(call, options, () => response.text()));
}

async function orUnreachable<T>(call: Call, { baseUrl, timeoutMs }: CallOptions, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const isTimeout = cause instanceof Error && cause.name === 'TimeoutError';
    const detail = isTimeout ? `no answer within ${timeoutMs} ms` : `no answer from ${baseUrl}: ${reasonOf(cause)}`;
    throw new MakerbookError({ code: 'unreachable', status: 0, detail, retryable: true, cause, ...outcomeOf(call) });
  }
}

/** Reads an answer that is a list. @throws MakerbookError `unreadable` for anything else */
export function readList<T>({ text, call }: Answer): T[] {
  const list = parseJson(text);
  if (Array.isArray(list)) return list;
  throw unreadable(call, 'no list');
}

/** Reads an answer that is an object. @throws MakerbookError `unreadable` for anything else */
export function readObject<T extends object>({ text, call }: Answer): T {
  const object = parseJson(text);
  if (typeof object === 'object' && object !== null && !Array.isArray(object)) return object as T;
  throw unreadable(call, 'no object');
}

/** Reads an answer that is bytes in hex. @throws MakerbookError `unreadable` for anything else */
export function readData({ text, call }: Answer): Hex {
  if (/^0x([0-9a-f]{2})+$/.test(text)) return text as Hex;
  throw unreadable(call, 'no data');
}

function unreadable(call: Call, what: string): MakerbookError {
  const detail = `the answer is ${what}: check the URL of the service`;
  return new MakerbookError({ code: 'unreadable', status: 200, detail, retryable: false, ...outcomeOf(call) });
}

/** A GET or a PATCH stores nothing, so its outcome is never unknown. */
const outcomeOf = ({ method }: Call) => (method === 'GET' || method === 'PATCH' ? { mayHaveHappened: false } : {});

function errorOf(call: Call, response: Response, text: string): MakerbookError {
  const { status, headers } = response;
  const retryAfter = Number(headers.get('retry-after') ?? Number.NaN);
  const retryAfterSeconds = Number.isFinite(retryAfter) ? retryAfter : undefined;
  const problem = parseJson(text) as Problem | null | undefined;
  // A gateway's own body may have a code too. Only the service's body repeats the status.
  if (typeof problem?.code === 'string' && problem.status === status)
    return new MakerbookError({ ...problem, retryAfterSeconds, problem, ...outcomeOf(call) });
  // A gateway answers while the service behind it is down.
  const retryable = status >= 500 || status === 429;
  const detail = `HTTP ${status}, but not from the service: a proxy has answered, or the URL is wrong`;
  return new MakerbookError({ code: 'unreadable', status, detail, retryable, retryAfterSeconds, ...outcomeOf(call) });
}

/** @returns undefined if the text is no JSON */
export function parseJson(text: string): unknown {
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
