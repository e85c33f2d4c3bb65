import { RpcRefused, RpcUnavailable } from './failures.js';
import { createJsonPoster } from './post-json.js';

export interface RpcRequest {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** Counted since the start, for metrics. */
export interface RpcCounts {
  /** JSON-RPC calls, those inside batches one by one. */
  readonly calls: number;
  /** HTTP requests. */
  readonly requests: number;
  /** HTTP requests without an answer in time, or without JSON-RPC in it. */
  readonly failures: number;
  /** Calls answered with a JSON-RPC error. */
  readonly refusals: number;
  /** How often the next endpoint was taken. */
  readonly failovers: number;
}

/** One or several nodes of the same chain, asked in turn: the first one as long as it answers. */
export interface Node {
  /** Throws RpcUnavailable or RpcRefused. */
  call(method: string, params: readonly unknown[]): Promise<unknown>;
  /** All in one HTTP request, by one node (split above `batchCallsMax`). Fails with the first call that is refused. */
  callAll(requests: readonly RpcRequest[]): Promise<readonly unknown[]>;
  counts(): RpcCounts;
  /** The host that was last asked, for logs. */
  endpoint(): string;
  close(): void;
}

export interface NodeOptions {
  /** At least one `http://` or `https://` address, the preferred one first. */
  readonly urls: readonly string[];
  /** Milliseconds since any fixed moment. */
  readonly nowMs: () => number;
  /** For one HTTP request. Default 5000. */
  readonly timeoutMs?: number;
  /** How long an endpoint that failed is left alone; doubles up to `restMsMax`. Default 500. */
  readonly restMs?: number;
  /** Default 30000. */
  readonly restMsMax?: number;
  /** Calls in one HTTP request. Default 50. */
  readonly batchCallsMax?: number;
  /** Default 64 MiB. */
  readonly responseBytesMax?: number;
  /** Open connections to one endpoint. Default 8. */
  readonly connectionsMax?: number;
}

/**
 * A JSON-RPC client over HTTP. A call that one endpoint fails (no answer, or a refusal that another node might not
 * share: it may lag behind) is asked of the next one; an endpoint that did not answer rests for a growing time.
 */
export function createNode(options: NodeOptions): Node {
  const { nowMs, timeoutMs = 5000, restMs = 500, restMsMax = 30_000, batchCallsMax = 50 } = options;
  const { responseBytesMax = 64 * 1024 * 1024, connectionsMax = 8 } = options;
  if (options.urls.length === 0) throw new RangeError('a node needs at least one URL');
  const endpoints = options.urls.map((url) => ({
    host: new URL(url).host,
    poster: createJsonPoster({ url, timeoutMs, responseBytesMax, connectionsMax }),
    failuresInARow: 0,
    restsUntilMs: Number.NEGATIVE_INFINITY,
  }));
  type Endpoint = (typeof endpoints)[number];
  const counts = { calls: 0, requests: 0, failures: 0, refusals: 0, failovers: 0 };
  let lastId = 0;
  let lastHost = endpoints[0]?.host ?? '';

  /** Those that are not resting, in order of preference; when all rest, the one that has rested longest first. */
  const inTurn = (): Endpoint[] => {
    const now = nowMs();
    const awake = endpoints.filter((endpoint) => endpoint.restsUntilMs <= now);
    return awake.length > 0 ? awake : [...endpoints].sort((a, b) => a.restsUntilMs - b.restsUntilMs);
  };

  const ask = async (endpoint: Endpoint, requests: readonly RpcRequest[]): Promise<unknown[]> => {
    const firstId = lastId + 1;
    lastId += requests.length;
    counts.requests += 1;
    counts.calls += requests.length;
    lastHost = endpoint.host;
    const bodies = requests.map(({ method, params }, index) => ({
      jsonrpc: '2.0',
      id: firstId + index,
      method,
      params,
    }));
    let results: unknown[];
    try {
      const answer = await endpoint.poster.post(JSON.stringify(bodies.length === 1 ? bodies[0] : bodies));
      results = resultsOf(answer, requests, firstId, endpoint.host);
    } catch (error) {
      if (error instanceof RpcRefused) {
        counts.refusals += 1;
      } else {
        counts.failures += 1;
        endpoint.restsUntilMs = nowMs() + Math.min(restMs * 2 ** endpoint.failuresInARow, restMsMax);
        endpoint.failuresInARow += 1;
      }
      throw error;
    }
    endpoint.failuresInARow = 0;
    endpoint.restsUntilMs = Number.NEGATIVE_INFINITY;
    return results;
  };

  const askInTurn = async (requests: readonly RpcRequest[]): Promise<unknown[]> => {
    let failure: unknown;
    for (const [index, endpoint] of inTurn().entries()) {
      if (index > 0) counts.failovers += 1;
      try {
        return await ask(endpoint, requests);
      } catch (error) {
        if (error instanceof RpcRefused && !error.retryable) throw error;
        // A refusal says more than silence.
        if (!(failure instanceof RpcRefused) || error instanceof RpcRefused) failure = error;
      }
    }
    throw failure;
  };

  return {
    call: async (method, params) => (await askInTurn([{ method, params }]))[0],
    callAll: async (requests) => {
      const results: unknown[] = [];
      for (let from = 0; from < requests.length; from += batchCallsMax) {
        results.push(...(await askInTurn(requests.slice(from, from + batchCallsMax))));
      }
      return results;
    },
    counts: () => ({ ...counts }),
    endpoint: () => lastHost,
    close: () => {
      for (const { poster } of endpoints) poster.close();
    },
  };
}

interface RpcAnswer {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code?: unknown; readonly message?: unknown };
}

function resultsOf(answer: unknown, requests: readonly RpcRequest[], firstId: number, host: string): unknown[] {
  const answers = (Array.isArray(answer) ? answer : [answer]) as readonly (RpcAnswer | null)[];
  const byId = new Map(answers.map((each) => [each?.id, each]));
  return requests.map(({ method }, index) => {
    // A request refused as a whole (rate limit, too large) has one answer with no id.
    const one = byId.get(firstId + index) ?? (answers.length === 1 ? answers[0] : undefined);
    if (one === undefined || one === null || typeof one !== 'object') {
      throw new RpcUnavailable(`${host} left the call ${method} without an answer`);
    }
    if (one.error !== undefined && one.error !== null) {
      const { code, message } = one.error;
      throw new RpcRefused(method, typeof code === 'number' ? code : 0, String(message ?? 'no reason'));
    }
    if (!('result' in one) || one.id !== firstId + index) {
      throw new RpcUnavailable(`${host} answered ${method} with no result`);
    }
    return one.result;
  });
}
