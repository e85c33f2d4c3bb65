import { metrics } from '@opentelemetry/api';

type System = 'postgresql' | 'redis';

/** The current state of a pool. */
export interface PoolCounts {
  readonly idle: number;
  readonly used: number;
  /** Calls that wait for a connection. */
  readonly waiting: number;
}

const secondsBuckets = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Times each operation of a client, by OpenTelemetry's conventions for databases. */
export function timeOperations(system: System): <T>(operation: () => Promise<T>) => Promise<T> {
  const duration = metrics.getMeter(system).createHistogram('db.client.operation.duration', {
    unit: 's',
    description: 'Time of an operation of Postgres or Redis, as its client sees it',
    advice: { explicitBucketBoundaries: secondsBuckets },
  });
  const done = { 'db.system.name': system };
  return async (operation) => {
    const startedAt = performance.now();
    let outcome: Record<string, string> = done;
    try {
      return await operation();
    } catch (error) {
      outcome = { ...done, 'error.type': error instanceof Error ? error.name : 'unknown' };
      throw error;
    } finally {
      duration.record((performance.now() - startedAt) / 1000, outcome);
    }
  };
}

/**
 * Shows the connections of a pool, by the same conventions.
 * @param name a name that no other pool of the process has
 * @returns a function that stops the observation
 */
export function observePool(system: System, name: string, counts: () => PoolCounts): () => void {
  const meter = metrics.getMeter(system);
  const connections = meter.createObservableUpDownCounter('db.client.connection.count', {
    unit: '{connection}',
    description: 'Connections of the pool, by whether they are in use',
  });
  const waiting = meter.createObservableUpDownCounter('db.client.connection.pending_requests', {
    unit: '{request}',
    description: 'Operations that wait for a connection of the pool',
  });
  const pool = { 'db.client.connection.pool.name': name };
  const observe: Parameters<typeof meter.addBatchObservableCallback>[0] = (result) => {
    const now = counts();
    result.observe(connections, now.idle, { ...pool, 'db.client.connection.state': 'idle' });
    result.observe(connections, now.used, { ...pool, 'db.client.connection.state': 'used' });
    result.observe(waiting, now.waiting, pool);
  };
  meter.addBatchObservableCallback(observe, [connections, waiting]);
  return () => meter.removeBatchObservableCallback(observe, [connections, waiting]);
}
