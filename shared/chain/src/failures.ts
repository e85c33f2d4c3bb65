/** No endpoint answered in time, or what it answered was no JSON-RPC. The same call may succeed later. */
export class RpcUnavailable extends Error {
  override readonly name = 'RpcUnavailable';
}

/**
 * A node answered with a JSON-RPC error. `retryable` is false where no node will ever answer otherwise: an unknown
 * method, wrong parameters, an execution that reverts.
 */
export class RpcRefused extends Error {
  override readonly name = 'RpcRefused';
  readonly method: string;
  /** The error code of JSON-RPC. */
  readonly code: number;
  readonly retryable: boolean;

  constructor(method: string, code: number, message: string) {
    super(`${method} was refused with ${code}: ${message}`);
    this.method = method;
    this.code = code;
    this.retryable = !LASTING_CODES.has(code) && !/execution reverted/i.test(message);
  }
}

/** The chain is not what it was told to be, or contradicts itself. No retry helps: a person has to look. */
export class ChainContradiction extends Error {
  override readonly name = 'ChainContradiction';
}

/** Invalid request, unknown method, invalid parameters, unreadable JSON, execution reverted. */
const LASTING_CODES = new Set([-32600, -32601, -32602, -32700, 3]);
