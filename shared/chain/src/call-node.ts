import type { MonotonicMs } from '@makerbook/contracts-primitives';
import { ChainContradiction, RpcRefused, RpcUnavailable } from './failures.js';
import { hideSecretsOf } from './hide-secrets.js';
import { numberOf } from './parse-hex.js';
import { createJsonPoster, type JsonPoster } from './post-json.js';
import { outcomesOf, type RpcOutcome, type RpcRequest, resultsOf } from './read-outcomes.js';

const REST_MS_MAX = 30_000;
const PASSED_OVER_MS = 5000;
/** A longer answer counts as slow. Reading a block takes three or more answers in a row. */
const SLOW_MS = 1000;
/** The most calls in one HTTP request. */
const BATCH_CALLS_MAX = 50;

/**
 * Interprets the answers to all calls of a request, which come from one endpoint. If it throws RpcUnavailable, that
 * endpoint has failed, and the next one is asked.
 */
export type ReadAnswers<A, T> = (answers: readonly A[], endpoint: string) => T;

/** Counted since the start, for metrics. */
export interface RpcCounts {
  /** JSON-RPC calls, those inside batches one by one. */
  readonly calls: number;
  /** HTTP requests. */
  readonly requests: number;
  /** HTTP requests without an answer in time, or with one that makes no sense. */
  readonly failures: number;
  /** The failures of each endpoint. */
  readonly failuresByEndpoint: ReadonlyMap<string, number>;
  /** Calls answered with a JSON-RPC error. */
  readonly refusals: number;
  /** How often the next endpoint was taken. */
  readonly failovers: number;
}

/** Answers several calls at once, all from one endpoint. */
export interface Answering {
  /**
   * Sends at most 50 calls in one HTTP request, so to one endpoint. Throws RpcUnavailable, RpcRefused if a call is
   * refused, or ChainContradiction if the endpoint is of another chain.
   */
  callAll<T>(requests: readonly RpcRequest[], read: ReadAnswers<unknown, T>): Promise<T>;
}

/** One of the nodes. */
export interface Endpoint extends Answering {
  /** The endpoint's host. The rest of its URL is never shown, because it may hold a key. */
  readonly name: string;
  /** True while the endpoint rests after a failure, or is being probed. */
  isResting(): boolean;
}

/** One or several nodes of the same chain, asked in turn. The first one is asked as long as it answers. */
export interface Node extends Answering {
  /** Sends one call, like `callAll`. */
  call(method: string, params: readonly unknown[]): Promise<unknown>;
  /** Like `callAll`, but a failed execution is an outcome. All other refusals are thrown. */
  callEach<T>(requests: readonly RpcRequest[], read: ReadAnswers<RpcOutcome, T>): Promise<T>;
  /** All endpoints, the preferred one first, to ask one by one. */
  endpoints(): readonly Endpoint[];
  /** Asks the endpoint last for 5 s. It answers, but lags behind or is slow. */
  passOver(endpoint: string): void;
  counts(): RpcCounts;
  close(): void;
}

export interface NodeOptions {
  /** At least one `http://` or `https://` address, the preferred one first. */
  readonly urls: readonly string[];
  /** Milliseconds since any fixed moment. */
  readonly monotonicMs: () => MonotonicMs;
  /**
   * The chain id that every endpoint must have (CHAIN_ID). Checked before the first call to an endpoint, and again
   * after it failed.
   */
  readonly chainId?: number;
  /** The time limit of one HTTP request. Default 5000. */
  readonly timeoutMs?: number;
  /** How long an endpoint rests after a failure. Doubles up to 30 s. Default 500. */
  readonly restMs?: number;
  /** Default 64 MiB. */
  readonly responseBytesMax?: number;
  /** Connections to one endpoint. Default 8. */
  readonly connectionsMax?: number;
}

/**
 * A JSON-RPC client over HTTP. A call that one endpoint fails goes to the next one. An endpoint fails a call if it does
 * not answer, or refuses a call that another node might serve: it may lag behind, or not know the method. An endpoint
 * that did not answer rests for a growing time. A refusal is final only if no endpoint is left that might answer
 * otherwise. An endpoint that failed or was slow is asked last until it answers a probe that no call waits for.
 */
export function createNode(options: NodeOptions): Node {
  if (options.urls.length === 0) throw new RangeError('a node needs at least one URL');
  return new NodeInTurn(options);
}

/** One endpoint with its state. */
interface Asked {
  readonly name: string;
  readonly hideSecrets: (text: string) => string;
  readonly poster: JsonPoster;
  failures: number;
  failuresInARow: number;
  restsUntilMs: number;
  passedOverUntilMs: number;
  /** True if its last answer was slow. */
  isSlow: boolean;
  isProbed: boolean;
  isOfTheChain: boolean;
}

class NodeInTurn implements Node {
  readonly #options: NodeOptions;
  readonly #all: readonly Asked[];
  readonly #counted = { calls: 0, requests: 0, failures: 0, refusals: 0, failovers: 0 };
  #lastId = 0;

  constructor(options: NodeOptions) {
    const { urls, chainId, timeoutMs = 5000, responseBytesMax = 64 * 1024 * 1024, connectionsMax = 8 } = options;
    this.#options = options;
    const names = nameByHost(urls);
    this.#all = urls.map((url, index) => ({
      name: names[index] ?? '',
      hideSecrets: hideSecretsOf(new URL(url)),
      poster: createJsonPoster({ url, timeoutMs, responseBytesMax, connectionsMax }),
      failures: 0,
      failuresInARow: 0,
      restsUntilMs: Number.NEGATIVE_INFINITY,
      passedOverUntilMs: Number.NEGATIVE_INFINITY,
      isSlow: false,
      isProbed: false,
      isOfTheChain: chainId === undefined,
    }));
  }

  call(method: string, params: readonly unknown[]): Promise<unknown> {
    return this.callAll([{ method, params }], ([result]) => result);
  }

  callAll<T>(requests: readonly RpcRequest[], read: ReadAnswers<unknown, T>): Promise<T> {
    return this.callEach(requests, (outcomes, endpoint) => read(resultsOf(outcomes), endpoint));
  }

  async callEach<T>(requests: readonly RpcRequest[], read: ReadAnswers<RpcOutcome, T>): Promise<T> {
    const failures: (RpcRefused | RpcUnavailable)[] = [];
    const inTurn = this.#inTurn();
    if (inTurn[0]?.failuresInARow === 0) for (const other of inTurn.slice(1)) void this.#probe(other);
    for (const endpoint of inTurn) {
      if (failures.length > 0) this.#counted.failovers += 1;
      try {
        return await this.#ask(endpoint, requests, read);
      } catch (error) {
        if (error instanceof RpcRefused ? error.isOfExecution : !(error instanceof RpcUnavailable)) throw error;
        failures.push(error as RpcRefused | RpcUnavailable);
      }
    }
    throw sumUp(failures, this.#all.length);
  }

  endpoints(): readonly Endpoint[] {
    return this.#all.map((endpoint) => ({
      name: endpoint.name,
      isResting: () => endpoint.isProbed || endpoint.restsUntilMs > this.#options.monotonicMs(),
      callAll: (requests, read) => this.#ask(endpoint, requests, (outcomes, name) => read(resultsOf(outcomes), name)),
    }));
  }

  passOver(name: string): void {
    const untilMs = this.#options.monotonicMs() + PASSED_OVER_MS;
    for (const endpoint of this.#all) if (endpoint.name === name) endpoint.passedOverUntilMs = untilMs;
  }

  counts(): RpcCounts {
    return { ...this.#counted, failuresByEndpoint: new Map(this.#all.map(({ name, failures }) => [name, failures])) };
  }

  close(): void {
    for (const { poster } of this.#all) poster.close();
  }

  /**
   * The endpoints that do not rest: first those with fewer failures in a row, then those that are not late, then by
   * preference. If all rest, the one whose rest ends first comes first.
   */
  #inTurn(): Asked[] {
    const now = this.#options.monotonicMs();
    const awake = this.#all.filter(({ restsUntilMs }) => restsUntilMs <= now);
    if (awake.length === 0) return [...this.#all].sort((a, b) => a.restsUntilMs - b.restsUntilMs);
    const isLate = (each: Asked) => Number(each.isSlow || each.passedOverUntilMs > now);
    return awake.sort((a, b) => a.failuresInARow - b.failuresInARow || isLate(a) - isLate(b));
  }

  /**
   * Probes an endpoint that failed or was slow. Only whether it answers counts here. A call reports any other fault.
   */
  async #probe(endpoint: Asked): Promise<void> {
    const isDoubtful = endpoint.failuresInARow > 0 || endpoint.isSlow;
    if (!isDoubtful || endpoint.isProbed || endpoint.passedOverUntilMs > this.#options.monotonicMs()) return;
    endpoint.isProbed = true;
    await this.#ask(endpoint, [{ method: 'eth_blockNumber', params: [] }], () => undefined).catch((error: unknown) => {
      if (!(error instanceof RpcUnavailable)) endpoint.failuresInARow = 0;
    });
    endpoint.isProbed = false;
  }

  async #ask<T>(endpoint: Asked, requests: readonly RpcRequest[], read: ReadAnswers<RpcOutcome, T>): Promise<T> {
    if (requests.length > BATCH_CALLS_MAX) throw new RangeError(`${requests.length} calls in one request`);
    let answer: T;
    try {
      await this.#confirmChain(endpoint);
      const outcomes = await this.#post(endpoint, requests);
      for (const outcome of outcomes) {
        if ('failure' in outcome && !outcome.failure.isOfExecution) throw outcome.failure;
      }
      answer = read(outcomes, endpoint.name);
    } catch (error) {
      if (error instanceof RpcUnavailable) this.#rest(endpoint);
      throw error;
    }
    endpoint.failuresInARow = 0;
    endpoint.restsUntilMs = Number.NEGATIVE_INFINITY;
    return answer;
  }

  #rest(endpoint: Asked): void {
    const { monotonicMs, chainId, restMs = 500 } = this.#options;
    this.#counted.failures += 1;
    endpoint.failures += 1;
    endpoint.restsUntilMs = monotonicMs() + Math.min(restMs * 2 ** endpoint.failuresInARow, REST_MS_MAX);
    endpoint.failuresInARow += 1;
    // It may be another node when it answers again.
    endpoint.isOfTheChain = chainId === undefined;
  }

  async #confirmChain(endpoint: Asked): Promise<void> {
    const { chainId } = this.#options;
    if (endpoint.isOfTheChain) return;
    const [id] = resultsOf(await this.#post(endpoint, [{ method: 'eth_chainId', params: [] }]));
    const actual = numberOf(id, 'eth_chainId', endpoint.name);
    if (actual !== chainId) {
      throw new ChainContradiction(`the node at ${endpoint.name} has chain id ${actual}, not CHAIN_ID=${chainId}`);
    }
    endpoint.isOfTheChain = true;
  }

  async #post(endpoint: Asked, requests: readonly RpcRequest[]): Promise<RpcOutcome[]> {
    const counted = this.#counted;
    const firstId = this.#lastId + 1;
    this.#lastId += requests.length;
    counted.requests += 1;
    counted.calls += requests.length;
    const bodies = requests.map(({ method, params }, at) => ({ jsonrpc: '2.0', id: firstId + at, method, params }));
    const askedAtMs = this.#options.monotonicMs();
    const answer = await endpoint.poster.post(JSON.stringify(bodies.length === 1 ? bodies[0] : bodies));
    endpoint.isSlow = this.#options.monotonicMs() - askedAtMs > SLOW_MS;
    if (endpoint.isSlow) this.passOver(endpoint.name);
    const outcomes = outcomesOf(answer, requests, firstId, endpoint);
    counted.refusals += outcomes.filter((outcome) => 'failure' in outcome).length;
    return outcomes;
  }
}

/** The error to throw if no endpoint answered. A refusal is more useful than silence. */
function sumUp(failures: readonly (RpcRefused | RpcUnavailable)[], endpoints: number): Error {
  const refusals = failures.filter((failure) => failure instanceof RpcRefused);
  const [refusal] = refusals;
  if (refusal === undefined) return new RpcUnavailable(failures.map(({ message }) => message).join('; '));
  const retryable = refusals.find((each) => each.retryable);
  if (retryable !== undefined || refusals.length === endpoints) return retryable ?? refusal;
  const { method, code, reason, endpoint } = refusal;
  return new RpcRefused(method, code, reason, { endpoint, isOneOfSeveral: true });
}

/** Names URLs by host. A host that several URLs share gets a number. */
function nameByHost(urls: readonly string[]): string[] {
  const hosts = urls.map((url) => new URL(url).host);
  return hosts.map((host, index) => {
    const before = hosts.slice(0, index).filter((each) => each === host).length;
    return before === 0 ? host : `${host}#${before + 1}`;
  });
}
