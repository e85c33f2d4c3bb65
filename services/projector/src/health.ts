import type { Health } from '@makerbook/http';
import type { ConsumerHealth } from '@makerbook/kafka';

/** What the health of the projector is judged by. Times in milliseconds of a clock that never goes back. */
export interface Signs {
  readonly nowMs: number;
  readonly startedAtMs: number;
  readonly consumer: ConsumerHealth;
  /** Why the loop has failed; undefined while it has not. */
  readonly failure?: string | undefined;
  /** Partitions whose rows wait to be committed, with the reason. */
  readonly commitsWaiting: ReadonlyMap<number, string>;
  /** Messages between the rows of the partitions owned and the log's end. */
  readonly lagMessages: bigint;
}

/** A broker that has not answered for this long is away. */
const kafkaSilenceMsMax = 15_000;

/** Whether a restart would not help: the loop runs, and some broker has answered it lately. */
export function judgeLiveness(signs: Signs, silenceMsMax: number): Health {
  const { consumer } = signs;
  const silenceMs = silenceOf(signs);
  const loop =
    consumer.state === 'failed' || consumer.state === 'stopped'
      ? `the consumer loop has ${consumer.state === 'failed' ? 'failed' : 'stopped'}`
      : silenceMs > silenceMsMax
        ? `no broker has answered the consumer loop for ${Math.round(silenceMs / 1000)} s`
        : 'ok';
  return { isOk: loop === 'ok', checks: { loop } };
}

/**
 * Whether facts are being projected: the loop runs, Postgres answers, and no batch and no commit of a partition waits to be
 * retried. Redis is reported and not needed.
 * @param postgres `ok`, or why it does not answer
 */
export function judgeReadiness(signs: Signs, postgres: string, isRedisThere: boolean): Health {
  const { consumer, commitsWaiting, lagMessages } = signs;
  const silenceMs = silenceOf(signs);
  const kafka =
    consumer.state !== 'running'
      ? `the consumer loop is ${consumer.state}${signs.failure === undefined ? '' : `: ${signs.failure}`}`
      : silenceMs > kafkaSilenceMsMax
        ? `no broker has answered for ${Math.round(silenceMs / 1000)} s`
        : 'ok';
  const waiting = [...new Map([...commitsWaiting, ...consumer.retrying])]
    .map(([partition, reason]) => `${partition}: ${reason}`)
    .join('; ');
  const partitions = waiting === '' ? 'ok' : `waiting to be retried: ${waiting}`;
  return {
    isOk: kafka === 'ok' && postgres === 'ok' && partitions === 'ok',
    checks: {
      kafka,
      postgres,
      partitions,
      redis: isRedisThere ? 'ok' : 'does not answer: lists are served from Postgres',
    },
    notes: {
      assigned: `${consumer.assigned.length} partitions`,
      lag: `${lagMessages} messages`,
    },
  };
}

/** A member without partitions fetches nothing: then its coordinator is the only one that answers. */
function silenceOf({ nowMs, startedAtMs, consumer }: Signs): number {
  const heardAtMs = consumer.assigned.length === 0 ? consumer.lastHeartbeatAtMs : consumer.lastPollAtMs;
  return nowMs - Math.max(heardAtMs, startedAtMs);
}
