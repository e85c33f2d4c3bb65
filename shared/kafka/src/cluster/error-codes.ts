import { protocolErrorsCodesById } from '@platformatic/kafka';

export const NO_ERROR = 0;

/** The coordinator of a group or of a transactional id is another broker now, or not ready yet. */
export const coordinatorMoved: ReadonlySet<string> = new Set([
  'COORDINATOR_LOAD_IN_PROGRESS',
  'COORDINATOR_NOT_AVAILABLE',
  'NOT_COORDINATOR',
]);

/** Errors that leave open whether a batch was stored. */
export const outcomeUnknown: ReadonlySet<string> = new Set([
  'REQUEST_TIMED_OUT',
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
  'KAFKA_STORAGE_ERROR',
  'UNKNOWN_SERVER_ERROR',
]);

/** The partition has another leader now, or its leader cannot store anything yet: the same batch may be sent again. */
export const storableAgain: ReadonlySet<string> = new Set([
  ...outcomeUnknown,
  'UNKNOWN_TOPIC_OR_PARTITION',
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_OR_FOLLOWER',
  'NOT_ENOUGH_REPLICAS',
]);

/** A batch is larger than the topic takes. */
export const tooLarge: ReadonlySet<string> = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']);

/** The protocol's name of an error code. */
export function nameOfCode(code: number): string {
  return protocolErrorsCodesById[code] ?? `error code ${code}`;
}

/** A broker answered with an error code. */
export class KafkaRefused extends Error {
  override readonly name = 'KafkaRefused';
  /** The protocol's name of the error code. */
  readonly reason: string;

  constructor(what: string, reason: string) {
    super(`${what}: ${reason}`);
    this.reason = reason;
  }
}

/** Throws KafkaRefused unless the code is that of success. */
export function assertAccepted(what: string, code: number): void {
  if (code !== NO_ERROR) {
    throw new KafkaRefused(what, nameOfCode(code));
  }
}
