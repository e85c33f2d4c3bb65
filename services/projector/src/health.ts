import type { MonotonicMs } from '@makerbook/contracts-primitives';
import { type Health, healthOf } from '@makerbook/http';
import type { ConsumerHealth } from '@makerbook/kafka';

/** The signs that the projector's health is judged by. Times are milliseconds of a clock that never goes back. */
export interface Signs {
  readonly monotonicMs: MonotonicMs;
  readonly consumer: ConsumerHealth;
  /** Why the loop has failed; undefined while it has not. */
  readonly failure?: string | undefined;
  readonly claims: {
    /** When the last look at the claims ended, answered or not. */
    readonly lastLookAtMs: MonotonicMs;
    /** Why the process may own less than its share. */
    readonly waitFor?: string | undefined;
  };
  /** Why the rows of each owned partition wait to be committed; undefined if they do not. */
  readonly commitsWaiting: Iterable<readonly [partition: number, reason: string | undefined]>;
  /** Messages between the rows of the owned partitions and the log's end. */
  readonly lagMessages: bigint;
}

/** A broker that has not answered for this long counts as down. */
const kafkaSilenceMsMax = 15_000;
/** Each look at the claims has a time limit of a second or two: a loop that is silent for this long hangs. */
const claimsSilenceMsMax = 30_000;

/** OK while both loops run, whatever answers they get: a restart would not help then. */
export function judgeLiveness(signs: Signs, silenceMsMax: number): Health {
  const { monotonicMs, consumer, claims } = signs;
  const loop = describeSilence('no fetch has ended', monotonicMs - consumer.lastTurnAtMs, silenceMsMax);
  const looks = describeSilence('no look at claims has ended', monotonicMs - claims.lastLookAtMs, claimsSilenceMsMax);
  return healthOf({ loop: describeEnd(signs) ?? loop, claims: looks });
}

/**
 * Ready while facts are projected: the loop runs, Postgres answers, and no batch or commit of a partition waits to be
 * retried. A process that owns nothing because others own all is ready.
 * @param postgres `ok`, or why it does not answer
 */
export function judgeReadiness(signs: Signs, postgres: string): Health {
  const { consumer, claims, commitsWaiting, lagMessages } = signs;
  const waiting = [...new Map([...commitsWaiting, ...consumer.retrying])]
    .flatMap(([partition, reason]) => (reason === undefined ? [] : `${partition}: ${reason}`))
    .join('; ');
  const partitions = waiting === '' ? 'ok' : `waiting to be retried: ${waiting}`;
  const silence = describeSilence(
    'no broker has answered',
    signs.monotonicMs - consumer.lastPollAtMs,
    kafkaSilenceMsMax,
  );
  const notes = { assigned: `${consumer.assigned.length} partitions`, lag: `${lagMessages} messages` };
  return {
    ...healthOf({ kafka: describeEnd(signs) ?? silence, postgres, claims: claims.waitFor ?? 'ok', partitions }),
    notes,
  };
}

function describeSilence(what: string, ms: number, msMax: number): string {
  return ms > msMax ? `${what} for ${Math.round(ms / 1000)} s` : 'ok';
}

/** Why the consumer loop has ended; undefined while it runs. */
function describeEnd({ consumer, failure }: Signs): string | undefined {
  if (consumer.state === 'running') return undefined;
  return `the consumer loop has ${consumer.state}${failure === undefined ? '' : `: ${failure}`}`;
}
