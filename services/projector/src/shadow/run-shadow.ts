import { LogUnavailable, RetryableError } from '@makerbook/kafka';
import { type Postgres, PostgresUnavailable, type Query, readProjection, seeOneMoment } from '@makerbook/postgres';
import type { Logger } from '@makerbook/telemetry';
import type { ProjectorSettings } from '../env.js';
import { messageOf } from '../fold/fold-facts.js';
import type { ProjectorParts } from '../parts.js';
import { PartitionComparison } from './compare-partition.js';
import { holdSnapshot } from './hold-snapshot.js';

export interface ShadowParts extends Omit<ProjectorParts, 'store'> {
  readonly settings: ProjectorSettings;
  readonly postgres: Postgres;
  readonly logger: Logger;
  /** A bug of the shadow itself: the process is to exit. */
  readonly onFatal: (error: Error) => void;
}

const LOOK_INTERVAL_MS = 200;
const RETRY_MS = 2_000;

/**
 * Where `SHADOW` is set, compares what this process would publish with the feeds that another one publishes, in all partitions,
 * and writes nothing. The rows are read in one transaction, as they were at its start; each maker that was read is held in memory
 * until the end.
 */
export class Shadow {
  readonly #parts: ShadowParts;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  /** The first difference of each partition. */
  readonly #differences = new Map<number, string>();
  #comparisons: readonly PartitionComparison[] = [];
  #isOver: boolean;

  constructor(parts: ShadowParts) {
    this.#parts = parts;
    this.#isOver = parts.settings.SHADOW === 'false';
    this.#running = this.#isOver ? Promise.resolve() : this.#run().catch(parts.onFatal);
  }

  /** Why the process may own no partition; undefined once every partition was the same for `SHADOW_BLOCKS` blocks. */
  waitsFor(): string | undefined {
    if (this.#isOver) return undefined;
    if (this.#differences.size > 0) {
      return [...this.#differences]
        .map(([partition, difference]) => `partition ${partition}: ${difference}`)
        .join('; ');
    }
    const [slowest] = this.#comparisons.toSorted((a, b) => a.blocks - b.blocks);
    if (slowest === undefined) return 'a shadow reads the rows';
    return `a shadow has compared ${slowest.blocks} of ${this.#parts.settings.SHADOW_BLOCKS} blocks of partition ${slowest.partition}`;
  }

  readonly stop = async (): Promise<void> => {
    this.#stopping.abort();
    await this.#running;
  };

  /** Begins anew where Postgres or Kafka has failed it. */
  async #run(): Promise<void> {
    const { postgres, logger, wait } = this.#parts;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await postgres.transaction((query) => this.#compare(query));
        this.#isOver = this.#differences.size === 0 && !signal.aborted;
        this.#comparisons = [];
        if (this.#isOver) logger.info({}, 'this build makes what is on the feeds: it takes partitions from now on');
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (!isOutage(error)) throw error;
        logger.warn({ reason: error.message }, 'the comparison with the feeds begins anew');
        await wait(RETRY_MS, signal);
      }
    }
  }

  async #compare(query: Query): Promise<void> {
    const { wait, settings } = this.#parts;
    const { signal } = this.#stopping;
    await query(seeOneMoment);
    // A partition that is quiet asks for nothing.
    await query('set local idle_in_transaction_session_timeout = 0');
    // All later reads see the moment of the first.
    await readProjection({ query }, 0);
    this.#comparisons = Array.from({ length: settings.PARTITIONS }, (_, partition) => {
      return new PartitionComparison(partition, holdSnapshot(query), this.#parts, signal);
    });
    for (;;) {
      const left = this.#comparisons.filter(
        ({ partition, blocks }) => blocks < settings.SHADOW_BLOCKS && !this.#differences.has(partition),
      );
      if (left.length === 0 || signal.aborted) return;
      for (const one of left) await this.#step(one);
      await wait(LOOK_INTERVAL_MS, signal);
    }
  }

  async #step(comparison: PartitionComparison): Promise<void> {
    const { partition } = comparison;
    const difference = await comparison.step().catch((error: unknown) => {
      if (isOutage(error)) throw error;
      return `it cannot be folded: ${messageOf(error)}`;
    });
    if (difference === undefined) return;
    this.#differences.set(partition, difference);
    this.#parts.logger.error({ partition, difference }, 'this build differs from the feed: it takes no partition');
  }
}

function isOutage(error: unknown): error is Error {
  return error instanceof LogUnavailable || error instanceof PostgresUnavailable || error instanceof RetryableError;
}
