import { type Health, healthOf } from '@makerbook/http';
import type { Postgres } from '@makerbook/postgres';
import type { RedisConnection } from '@makerbook/redis';
import type { Makers } from '@makerbook/whitelist';

/**
 * The brokers answer a fetch twice a second, news or not. An append waits for them as long as this (APPEND_TIMEOUT_MS, by
 * default): from then on requests are answered with 503, and whoever routes by readiness has to know it.
 */
const KAFKA_SILENCE_MS_MAX = 5_000;

export interface HealthParts {
  readonly makers: Pick<Makers, 'isCaughtUp' | 'lastPollAtMs'>;
  readonly redis: Pick<RedisConnection, 'isReady'>;
  readonly postgres: Pick<Postgres, 'isThere'>;
  readonly nowMs: () => number;
}

/**
 * Alive as long as it answers. Ready when orders can be placed: the whitelist was read, Kafka and Redis are there.
 * Postgres is shown and does not decide: what Redis holds can be placed and cancelled without it.
 */
export function reportHealth({ makers, redis, postgres, nowMs }: HealthParts): {
  live: () => Health;
  ready: () => Promise<Health>;
} {
  return {
    live: () => healthOf({}),
    async ready() {
      const checks = {
        whitelist: makers.isCaughtUp() ? 'ok' : 'still being read from the log',
        kafka: nowMs() - makers.lastPollAtMs() < KAFKA_SILENCE_MS_MAX ? 'ok' : 'does not answer',
        redis: redis.isReady() ? 'ok' : 'is away',
      };
      const stored = (await postgres.isThere()) ? 'ok' : 'is away; only what Redis holds can be placed or cancelled';
      return { isOk: healthOf(checks).isOk, checks: { ...checks, postgres: stored } };
    },
  };
}
