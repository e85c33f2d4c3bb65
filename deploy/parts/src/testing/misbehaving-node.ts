import { forwardTo } from '../strict-node/chain-behind.js';
import { type AskedCall, type RpcAnswer, serveRpc } from '../strict-node/serve-rpc.js';

/** A server between a watcher and a node. */
export interface Gate {
  readonly url: string;
  close(): Promise<void>;
}

/** Answers a request with a status, or each of its calls. */
export type Misbehaviour = (
  calls: readonly AskedCall[],
  /** Asks the real node these calls. */
  forward: (calls: readonly AskedCall[]) => Promise<readonly RpcAnswer[]>,
) => Promise<{ readonly status: number } | readonly RpcAnswer[]>;

/** Starts a node before another, for tests that count, hold or change requests. A strict node has the known faults. */
export function startMisbehavingNode(nodeUrl: string, answer: Misbehaviour): Promise<Gate> {
  return serveRpc((calls) => answer(calls, (forwarded) => forwardTo(nodeUrl, forwarded)));
}
