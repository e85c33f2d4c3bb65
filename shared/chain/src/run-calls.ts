import type { Address, Hex } from '@makerbook/contracts-primitives';
import { WALLET_GAS } from './ask-wallets.js';
import type { Node } from './call-node.js';
import { type CallOutcome, decodeAggregate3, encodeAggregate3, type StateCall } from './encode-calls.js';
import { RpcRefused, RpcUnavailable } from './failures.js';
import { bytesOf } from './parse-hex.js';
import type { RpcRequest } from './read-outcomes.js';

/** Single calls in one request, besides the empty one. */
export const SINGLES_MAX = 40;
/** A call that returns more is kept out of batches. Our own Multicall3 treats it as a failure. */
const RETURN_BYTES_MAX = 4096;

/** Runs calls at a block. Returns the first word of each result; undefined if the execution fails. */
export class CallRunner {
  readonly #node: Node;
  readonly #multicall: Address;

  /** @param multicall the address of Multicall3 */
  constructor(node: Node, multicall: Address) {
    this.#node = node;
    this.#multicall = multicall;
  }

  /** Runs each call by itself, with the gas that `openWallets` gives it. For wallets. */
  readAlone(blockHash: Hex, calls: readonly StateCall[]): Promise<readonly (bigint | undefined)[]> {
    const gas = `0x${WALLET_GAS.toString(16)}`;
    const requests = calls.map(({ to, data }) => {
      return { method: 'eth_call', params: [{ to, data, gas }, { blockHash }] };
    });
    return this.#runEach(blockHash, requests, WALLET_GAS, (result, endpoint) => {
      const bytes = bytesOf(result, undefined, 'eth_call', endpoint);
      return firstWord({ succeeded: true, data: bytes.slice(2) });
    });
  }

  /**
   * Runs all calls in one batch. A batch that is refused twice may be too large, so its values are unknown. The second
   * try is for a balancer, whose other node may know more.
   */
  async readTogether(blockHash: Hex, calls: readonly StateCall[], gas: number): Promise<(bigint | undefined)[]> {
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      try {
        return await this.#node.callAll([this.#requestOf(blockHash, calls, gas)], ([result], endpoint) =>
          this.#outcomesOf(result, calls.length, endpoint).map(firstWord),
        );
      } catch (error) {
        if (!(error instanceof RpcRefused)) throw error;
        if (error.isOfExecution) break;
      }
    }
    return calls.map(() => undefined);
  }

  /** Runs each call in an `eth_call` of its own. */
  readSingly(blockHash: Hex, calls: readonly StateCall[], gas: number): Promise<(bigint | undefined)[]> {
    const requests = calls.map((call) => this.#requestOf(blockHash, [call], gas));
    return this.#runEach(blockHash, requests, gas, (result, endpoint) =>
      firstWord(this.#outcomesOf(result, 1, endpoint)[0]),
    );
  }

  /** Sends all in one request, after an empty call; undefined for executions that fail. */
  #runEach(
    blockHash: Hex,
    requests: readonly RpcRequest[],
    gas: number,
    read: (result: unknown, endpoint: string) => bigint | undefined,
  ): Promise<(bigint | undefined)[]> {
    return this.#node.callEach([this.#requestOf(blockHash, [], gas), ...requests], ([empty, ...singles], endpoint) => {
      if (empty === undefined || 'failure' in empty) {
        throw new RpcUnavailable(`${endpoint} cannot execute calls at block ${blockHash}`);
      }
      this.#outcomesOf(empty.result, 0, endpoint);
      return singles.map((single) => ('failure' in single ? undefined : read(single.result, endpoint)));
    });
  }

  #requestOf(blockHash: Hex, calls: readonly StateCall[], gas: number): RpcRequest {
    const call = { to: this.#multicall, data: encodeAggregate3(calls), gas: `0x${gas.toString(16)}` };
    return { method: 'eth_call', params: [call, { blockHash }] };
  }

  /** Returns the outcomes of the calls. Throws RpcUnavailable if the result does not fit them. */
  #outcomesOf(result: unknown, count: number, by: string): readonly CallOutcome[] {
    const outcomes = typeof result === 'string' ? decodeAggregate3(result as Hex, count) : undefined;
    if (outcomes !== undefined) return outcomes;
    throw new RpcUnavailable(`${by} gave no result of aggregate3 of the Multicall3 at ${this.#multicall}`);
  }
}

/** The first word of the returned bytes, as a uint256 of Solidity; undefined if they are too few or too many. */
function firstWord(outcome: CallOutcome | undefined): bigint | undefined {
  if (outcome?.succeeded !== true || outcome.data.length < 64) return undefined;
  if (outcome.data.length > 2 * RETURN_BYTES_MAX) return undefined;
  return BigInt(`0x${outcome.data.slice(0, 64)}`);
}
