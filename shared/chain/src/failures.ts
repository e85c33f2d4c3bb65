import { Unavailable } from '@makerbook/contracts-primitives';

/**
 * The messages of geth, Kaia and anvil for a failed execution. They must not match the messages of a node that gave up
 * ("execution aborted (timeout = 5s)", "request timed out"), lags behind ("header not found") or has a limit ("limit
 * exceeded").
 */
const EXECUTION_FAILURES = new RegExp(
  [
    'execution reverted',
    '\\bout of gas\\b',
    'gas uint64 overflow',
    'return data out of bounds',
    'invalid opcode',
    'invalid jump destination',
    'stack underflow',
    'stack limit reached',
    'VM error occurs while running smart contract',
    '^EVM error \\w+$',
  ].join('|'),
  'i',
);

const EXECUTION_REVERTED = 3;
/** Invalid request, unknown method, invalid parameters, unreadable JSON. */
const LASTING_CODES = new Set([-32600, -32601, -32602, -32700]);
/** No endpoint answered in time, or the answer was no JSON-RPC. The same call may succeed later. */
export class RpcUnavailable extends Unavailable {
  override readonly name = 'RpcUnavailable';
}

export interface RefusalOptions {
  /** Name of the endpoint that refused. */
  readonly endpoint?: string | undefined;
  /** True if endpoints that were not asked may answer otherwise, whatever the code. */
  readonly isOneOfSeveral?: boolean;
}

/**
 * A node answered with a JSON-RPC error. `retryable` is false if every answer to the call will be the same: an unknown
 * method, wrong parameters, a failed execution.
 */
export class RpcRefused extends Error {
  override readonly name = 'RpcRefused';
  readonly method: string;
  /** The error code of JSON-RPC. */
  readonly code: number;
  /** The node's message. */
  readonly reason: string;
  /** Name of the endpoint that refused. */
  readonly endpoint: string | undefined;
  readonly retryable: boolean;
  /**
   * The execution failed: it reverted, used up its gas, or met an invalid instruction. Every node answers that. All
   * other refusals are the node's own: it lags behind, has no time, or does not serve the call.
   */
  readonly isOfExecution: boolean;

  constructor(method: string, code: number, reason: string, options: RefusalOptions = {}) {
    const { endpoint, isOneOfSeveral = false } = options;
    super(`${method} was refused${endpoint === undefined ? '' : ` by ${endpoint}`} with ${code}: ${reason}`);
    this.method = method;
    this.code = code;
    this.reason = reason;
    this.endpoint = endpoint;
    this.isOfExecution = code === EXECUTION_REVERTED || EXECUTION_FAILURES.test(reason);
    this.retryable = isOneOfSeveral || !(this.isOfExecution || LASTING_CODES.has(code));
  }
}

/** The chain is not the configured one, or contradicts itself. No retry helps: a person has to act. */
export class ChainContradiction extends Error {
  override readonly name = 'ChainContradiction';
}
