import { type Health, healthOf } from '@makerbook/http';
import { type Postgres, PostgresUnavailable } from '@makerbook/postgres';
import type { RedisConnection } from '@makerbook/redis';
import type { Makers } from '@makerbook/whitelist';

/** The brokers answer a fetch about every second, news or not. */
const POLL_AGE_MS_MAX = 5_000;

export interface HealthParts {
  readonly makers: Pick<Makers, 'isCaughtUp' | 'lastPollAtMs'>;
  readonly redis: Pick<RedisConnection, 'isReady'>;
  readonly postgres: Pick<Postgres, 'check'>;
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
        kafka: nowMs() - makers.lastPollAtMs() < POLL_AGE_MS_MAX ? 'ok' : 'does not answer',
        redis: redis.isReady() ? 'ok' : 'is away',
      };
      const stored = (await isThere(postgres)) ? 'ok' : 'is away; only what Redis holds can be placed or cancelled';
      return { isOk: healthOf(checks).isOk, checks: { ...checks, postgres: stored } };
    },
  };
}

async function isThere(postgres: Pick<Postgres, 'check'>): Promise<boolean> {
  try {
    await postgres.check();
    return true;
  } catch (error) {
    if (error instanceof PostgresUnavailable) return false;
    throw error;
  }
}
