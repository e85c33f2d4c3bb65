import { type Health, healthOf } from '@makerbook/http';
import type { Postgres } from '@makerbook/postgres';
import type { RedisConnection } from '@makerbook/redis';
import type { Makers } from '@makerbook/whitelist';

/**
 * The brokers answer a fetch twice a second, also without new records, and a dead connection is replaced after 10.5 s: a
 * longer silence means that Kafka is away. Readiness does not depend on this check, so it can wait until that is certain.
 */
const KAFKA_SILENCE_MS_MAX = 15_000;

export interface HealthParts {
  readonly makers: Pick<Makers, 'isCaughtUp' | 'lastPollAtMs'>;
  readonly redis: Pick<RedisConnection, 'isThere'>;
  readonly postgres: Pick<Postgres, 'isThere'>;
  readonly replica?: Pick<Postgres, 'isThere'> | undefined;
  /** Milliseconds that never go back, as those of `lastPollAtMs`. */
  readonly monotonicMs: () => number;
}

/**
 * Alive as long as it answers. Ready when the whitelist was read, and Redis, Postgres or its replica is there: one of them is enough
 * to list orders, and without Kafka what is there can still be served. Every check is shown all the same.
 */
export function reportHealth({ makers, redis, postgres, replica, monotonicMs }: HealthParts): {
  live: () => Health;
  ready: () => Promise<Health>;
} {
  return {
    live: () => healthOf({}),
    async ready() {
      const parts = [redis.isThere(), postgres.isThere(), replica?.isThere()] as const;
      const [isRedisThere, isStoreThere, isCopyThere] = await Promise.all(parts);
      const checks = {
        whitelist: makers.isCaughtUp() ? 'ok' : 'still being read from the log',
        kafka: monotonicMs() - makers.lastPollAtMs() < KAFKA_SILENCE_MS_MAX ? 'ok' : 'does not answer',
        redis: isRedisThere ? 'ok' : 'does not answer',
        postgres: isStoreThere ? 'ok' : 'is away',
        ...(isCopyThere !== undefined && { replica: isCopyThere ? 'ok' : 'is away: its reads go to the primary' }),
      };
      return { isOk: makers.isCaughtUp() && (isRedisThere || isStoreThere || isCopyThere === true), checks };
    },
  };
}
