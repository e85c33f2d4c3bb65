import { problemBody } from '@makerbook/contracts-http';
import { paths } from '@makerbook/contracts-http/paths';

type Code = Parameters<typeof problemBody>[0];

export interface AskedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: never;
  readonly headers: Headers;
}

export const CONTRACT = `0x${'12'.repeat(20)}`;
const INFO = {
  serviceName: 'Test',
  domains: { order: { name: 'Test Limit Order Protocol', version: 'v0', chainId: 8217, verifyingContract: CONTRACT } },
};

/** A refusal of the service. */
export const refuse = (code: Code, headers: Record<string, string> = {}, more: object = {}) =>
  new Response(JSON.stringify({ ...problemBody(code, { detail: 'no' }, 'request-1'), ...more }), {
    status: problemBody(code, { detail: '' }, '').status,
    headers,
  });

export const answer = (body: unknown, headers: Record<string, string> = {}) =>
  new Response(typeof body === 'string' ? body : JSON.stringify(body), { headers });

/**
 * Replaces `fetch` and the service behind it. Judges the times of requests as the service does, and tells its own time
 * with each answer.
 * @param nowMs the clock of the service
 * @param handle answers requests that are in time
 */
export function fakeService(nowMs: () => number, handle: (request: AskedRequest) => Response | Promise<Response>) {
  const asked: AskedRequest[] = [];
  const fetch: typeof globalThis.fetch = async (input, { method = 'GET', body, headers } = {}) => {
    const { pathname: path, searchParams: query } = new URL(String(input));
    const json = typeof body === 'string' ? JSON.parse(body) : undefined;
    const request = { method, path, query, body: json as never, headers: new Headers(headers) };
    asked.push(request);
    const response = path === paths.info ? answer(INFO) : (refuseTimes(request, nowMs()) ?? (await handle(request)));
    response.headers.set('X-Server-Time', String(nowMs()));
    return response;
  };
  return { fetch, asked };
}

function refuseTimes({ query, body }: AskedRequest, nowMs: number): Response | undefined {
  const issuedAt = query.get('issuedAt');
  const age = nowMs / 1000 - Number(issuedAt);
  if (issuedAt !== null && (age > 31 || age < -5)) return refuse('request_expired');
  const { issuedAtMs, cancelAt, untilMs } = (body ?? {}) as Record<string, number | undefined>;
  if (issuedAtMs !== undefined && (issuedAtMs > nowMs + 5_000 || issuedAtMs < nowMs - 300_000))
    return refuse('invalid_request');
  if (untilMs !== undefined && (untilMs > nowMs + 60_000 || untilMs < nowMs - 300_000))
    return refuse('invalid_request');
  if (cancelAt !== undefined && cancelAt !== 0 && cancelAt * 1000 <= nowMs) return refuse('invalid_request');
  return undefined;
}
