import { type Health, healthOf } from '@makerbook/http';
import type { Postgres } from '@makerbook/postgres';
import type { Makers } from '@makerbook/whitelist';
import type { Parts } from './parts.js';

/**
 * The brokers answer a fetch twice a second, even without new records. An append waits for them this long, the default
 * of APPEND_TIMEOUT_MS. After that requests are answered with 503, which a load balancer has to see.
 */
const KAFKA_SILENCE_MS_MAX = 5_000;

export interface HealthParts {
  readonly topics: Parts['topics'];
  readonly makers: Pick<Makers, 'isCaughtUp' | 'isCancelOnly' | 'silenceMs'>;
  readonly postgres: Pick<Postgres, 'isThere'>;
  readonly trust: Pick<Parts['trust'], 'isTrusted'>;
  readonly projection: Pick<Parts['projection'], 'lagSeconds'>;
  /** POST answers 503 while the read model is behind for longer. */
  readonly lagSecondsMax: number;
}

/**
 * Ready when the topics are checked, the whitelist was read and Kafka answers. Shows Postgres, a read model that is
 * behind, and a stop of new orders, but does not judge by them: cancelling works without them, and no other instance
 * would do better.
 */
export async function judgeReadiness({
  topics,
  makers,
  postgres,
  trust,
  projection,
  lagSecondsMax,
}: HealthParts): Promise<Health> {
  const isStoreThere = await postgres.isThere();
  const checks = {
    whitelist: makers.isCaughtUp() ? 'ok' : 'still being read from the log',
    topics: topics.areVerified() ? 'ok' : 'not yet checked',
    kafka: makers.silenceMs() < KAFKA_SILENCE_MS_MAX ? 'ok' : 'does not answer',
  };
  const stored = !isStoreThere
    ? 'is down: no order can be placed, and cancelling needs the salt'
    : trust.isTrusted()
      ? 'ok'
      : 'may have lost rows; nothing can be placed before the log is folded again';
  const behind = `behind the log for ${Math.round(projection.lagSeconds())} s: nothing can be placed`;
  const placing = makers.isCancelOnly() ? 'an operator has set cancel-only: no orders are taken' : 'ok';
  return {
    isOk: healthOf(checks).isOk,
    checks: {
      ...checks,
      postgres: stored,
      projection: projection.lagSeconds() > lagSecondsMax ? behind : 'ok',
      placing,
    },
  };
}
