import { forwardTo } from '../strict-node/chain-behind.js';
import { type AskedCall, type RpcAnswer, serveRpc } from '../strict-node/serve-rpc.js';

/** Stands between a watcher and a node. */
export interface Gate {
  readonly url: string;
  close(): Promise<void>;
}

/** How a node answers a request: with a status, or call by call. */
export type Misbehaviour = (
  calls: readonly AskedCall[],
  /** Asks the real node these calls. */
  forward: (calls: readonly AskedCall[]) => Promise<readonly RpcAnswer[]>,
) => Promise<{ readonly status: number } | readonly RpcAnswer[]>;

/** A node before another one, for tests that count, hold or change requests. Tell a strict node for known faults. */
export function startMisbehavingNode(nodeUrl: string, answer: Misbehaviour): Promise<Gate> {
  return serveRpc((calls) => answer(calls, (forwarded) => forwardTo(nodeUrl, forwarded)));
}
