import type { Health } from '@makerbook/http';
import type { Postgres } from '@makerbook/postgres';
import type { Makers } from '@makerbook/whitelist';
import type { RedisConnection } from './redis/connect.js';

/**
 * The brokers answer a fetch twice a second, also without new records, and a dead connection is replaced after 10.5 s:
 * a longer silence means that Kafka is away. Readiness does not depend on this check, so it can wait until that is
 * certain.
 */
const KAFKA_SILENCE_MS_MAX = 15_000;

export interface HealthParts {
  readonly makers: Pick<Makers, 'isCaughtUp' | 'silenceMs'>;
  /** Undefined: there is none to be used. */
  readonly redis: Pick<RedisConnection, 'isThere'> | undefined;
  readonly postgres: Pick<Postgres, 'isThere'>;
}

/**
 * Ready when the whitelist was read, and Postgres or Redis answers: a process that reaches neither is cut off. Without
 * Kafka or Postgres the lists that it holds can still be served. Every check is shown all the same.
 */
export async function judgeReadiness({ makers, redis, postgres }: HealthParts): Promise<Health> {
  const [isRedisThere, isStoreThere] = await Promise.all([redis?.isThere(), postgres.isThere()]);
  const checks = {
    whitelist: makers.isCaughtUp() ? 'ok' : 'still being read from the log',
    kafka: makers.silenceMs() < KAFKA_SILENCE_MS_MAX ? 'ok' : 'does not answer',
    ...(isRedisThere !== undefined && { redis: isRedisThere ? 'ok' : 'does not answer' }),
    postgres: isStoreThere ? 'ok' : 'is away',
  };
  return { isOk: makers.isCaughtUp() && (isStoreThere || isRedisThere === true), checks };
}
