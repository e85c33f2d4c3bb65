import type { Health } from '@makerbook/http';
import type { Postgres } from '@makerbook/postgres';
import type { Makers } from '@makerbook/whitelist';
import type { RedisConnection } from './redis/connect.js';

/**
 * The brokers answer a fetch twice a second, even without new records. A dead connection is replaced after 10.5 s. So a
 * longer silence means that Kafka is down. Readiness does not depend on this check, so it can wait until that is
 * certain.
 */
const KAFKA_SILENCE_MS_MAX = 15_000;

export interface HealthParts {
  readonly makers: Pick<Makers, 'isCaughtUp' | 'silenceMs'>;
  /** Undefined if no Redis is configured. */
  readonly redis: Pick<RedisConnection, 'isThere'> | undefined;
  readonly postgres: Pick<Postgres, 'isThere'>;
}

/**
 * Ready once the whitelist was read, and while Postgres or Redis answers: a process that reaches neither is cut off.
 * Without Kafka or Postgres it can still serve the lists that it holds. Every check is shown all the same.
 */
export async function judgeReadiness({ makers, redis, postgres }: HealthParts): Promise<Health> {
  const [isRedisThere, isStoreThere] = await Promise.all([redis?.isThere(), postgres.isThere()]);
  const checks = {
    whitelist: makers.isCaughtUp() ? 'ok' : 'still being read from the log',
    kafka: makers.silenceMs() < KAFKA_SILENCE_MS_MAX ? 'ok' : 'does not answer',
    ...(isRedisThere !== undefined && { redis: isRedisThere ? 'ok' : 'does not answer' }),
    postgres: isStoreThere ? 'ok' : 'is down',
  };
  return { isOk: makers.isCaughtUp() && (isStoreThere || isRedisThere === true), checks };
}
