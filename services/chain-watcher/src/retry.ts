import { RpcRefused, RpcUnavailable } from '@makerbook/chain';
import { LogUnavailable } from '@makerbook/kafka';
import { PostgresUnavailable } from '@makerbook/postgres';

/** True if the work may succeed later: a node, Kafka or Postgres is away. Any other error ends the watcher. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof RpcRefused) return error.retryable;
  return error instanceof RpcUnavailable || error instanceof LogUnavailable || error instanceof PostgresUnavailable;
}
