import { setTimeout as pause } from 'node:timers/promises';
import { silentLogger } from '@makerbook/telemetry';
import { Cluster } from '../cluster/cluster.js';
import { unavailable } from '../failures.js';
import type { LogRecord } from '../log.js';
import { Transactor } from '../produce/transactions.js';

const TIMEOUT_MS = 3_000;
const PAUSE_MS = 50;
const TRANSACTION_TIMEOUT_MS = 600_000;

/** The real one, except that the leaders of one partition number are looked for until there is no time left. */
class HalfCluster extends Cluster {
  missing = -1;

  override async leaderOf(...[topic, partition, deadline]: Parameters<Cluster['leaderOf']>) {
    if (partition !== this.missing) return super.leaderOf(topic, partition, deadline);
    while (!deadline.passed()) await pause(PAUSE_MS);
    throw unavailable('no leader');
  }
}

/**
 * For tests: stores a record in a transaction that nobody ends, as a writer does that is killed in the middle of it. Whoever
 * takes the id over aborts it.
 * @param partitions of the topic, more than one
 */
export async function leaveTransactionOpen(
  brokers: readonly string[],
  transactionalId: string,
  record: LogRecord,
  partitions: number,
): Promise<void> {
  const cluster = new HalfCluster({ brokers, clientId: 'leaves-open', logger: silentLogger });
  cluster.missing = (record.partition + 1) % partitions;
  const options = { transactionalId, timeoutMs: TIMEOUT_MS, transactionTimeoutMs: TRANSACTION_TIMEOUT_MS };
  try {
    await new Transactor(cluster, options).publish([record, { ...record, partition: cluster.missing }]);
  } catch {
    return;
  } finally {
    cluster.close();
  }
  throw new Error('the transaction was not left open');
}
