import { type Health, healthOf } from '@makerbook/http';
import type { Postgres } from '@makerbook/postgres';
import type { RedisConnection } from '@makerbook/redis';
import type { Makers } from '@makerbook/whitelist';
import type { ProjectionLag } from './watch-projection-lag.js';

/**
 * The brokers answer a fetch twice a second, also without new records. An append waits for them this long (the default of
 * APPEND_TIMEOUT_MS). After that requests are answered with 503, which a load balancer has to see.
 */
const KAFKA_SILENCE_MS_MAX = 5_000;

export interface HealthParts {
  readonly makers: Pick<Makers, 'isCaughtUp' | 'isCancelOnly' | 'lastPollAtMs'>;
  readonly redis: Pick<RedisConnection, 'isThere'>;
  readonly postgres: Pick<Postgres, 'isThere'>;
  readonly lag: Pick<ProjectionLag, 'seconds'>;
  /** POST answers 503 while the read model is behind for longer. */
  readonly lagSecondsMax: number;
  /** Milliseconds that never go back, as those of `lastPollAtMs`. */
  readonly monotonicMs: () => number;
}

/**
 * Alive as long as it answers. Ready when the whitelist was read, and Kafka and Redis are there. Postgres, a read model
 * that is behind, and the decision to take no orders are shown and do not decide: cancelling goes on without them, and no
 * other instance would do better.
 */
export function reportHealth({ makers, redis, postgres, lag, lagSecondsMax, monotonicMs }: HealthParts): {
  live: () => Health;
  ready: () => Promise<Health>;
} {
  return {
    live: () => healthOf({}),
    async ready() {
      const [isRedisThere, isStoreThere] = await Promise.all([redis.isThere(), postgres.isThere()]);
      const checks = {
        whitelist: makers.isCaughtUp() ? 'ok' : 'still being read from the log',
        kafka: monotonicMs() - makers.lastPollAtMs() < KAFKA_SILENCE_MS_MAX ? 'ok' : 'does not answer',
        redis: isRedisThere ? 'ok' : 'does not answer',
      };
      const stored = isStoreThere ? 'ok' : 'is away; only what Redis holds can be placed or cancelled';
      const behind = `behind the log for ${Math.round(lag.seconds())} s: nothing can be placed`;
      const projection = lag.seconds() > lagSecondsMax ? behind : 'ok';
      const placing = makers.isCancelOnly() ? 'an operator has the service take no orders' : 'ok';
      return { isOk: healthOf(checks).isOk, checks: { ...checks, postgres: stored, projection, placing } };
    },
  };
}
