import { RpcRefused } from '@makerbook/chain';
import { Unavailable } from '@makerbook/contracts-primitives';

/** True if the work may succeed later: a node, Kafka or Postgres is down. Any other error ends the watcher. */
export function isRetryable(error: unknown): boolean {
  return error instanceof RpcRefused ? error.retryable : error instanceof Unavailable;
}
