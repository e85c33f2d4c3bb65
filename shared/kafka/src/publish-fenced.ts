import type { FencedPublisher, FencedPublisherOptions } from './log.js';
import type { Connections } from './reach-brokers.js';
import { openTransactor } from './run-transaction.js';
import { deadlineIn } from './wait.js';

/**
 * A publisher of which only the latest opened under its transactional id can publish. Many of them share connections
 * and cost a few hundred bytes each.
 */
export function openFencedPublisher(connections: Connections, options: FencedPublisherOptions): FencedPublisher {
  const timeoutMs = options.timeoutMs ?? 5_000;
  const transactor = openTransactor({
    connections,
    transactionalId: options.transactionalId,
    transactionTimeoutMs: options.transactionTimeoutMs ?? 10_000,
  });
  return {
    takeOver: () => transactor.open(deadlineIn(timeoutMs)),
    publish: async (records) => {
      await transactor.transact(records, deadlineIn(timeoutMs));
    },
    close: () => transactor.close(),
  };
}
