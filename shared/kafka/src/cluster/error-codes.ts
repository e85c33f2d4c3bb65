import { type ProtocolError, protocolErrors, protocolErrorsCodesById, type ResponseError } from '@platformatic/kafka';

export const NO_ERROR = 0;

/**
 * Errors that leave open whether a batch was stored. A leader that steps down while it waits for its replicas answers
 * the same as a broker that never was the leader.
 */
export const outcomeUnknown: readonly string[] = [
  'NOT_LEADER_OR_FOLLOWER',
  'UNKNOWN_TOPIC_OR_PARTITION',
  'REQUEST_TIMED_OUT',
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
  'KAFKA_STORAGE_ERROR',
  'UNKNOWN_SERVER_ERROR',
];

/** A batch is larger than the topic takes. */
export const tooLarge: readonly string[] = ['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'];

/** The protocol's name of an error code. */
export function nameOfCode(code: number): string {
  return protocolErrorsCodesById[code] ?? `error code ${code}`;
}

/** A broker answered with an error code. */
export class KafkaRefused extends Error {
  override readonly name = 'KafkaRefused';
  /** The protocol's name of the error code. */
  readonly reason: string;
  readonly response: unknown;

  constructor(what: string, reason: string, response?: unknown) {
    super(`${what}: ${reason}`);
    this.reason = reason;
    this.response = response;
  }
}

/** If several partitions are refused, one is the cause and the others were not attempted. */
export function refusalOf(error: ResponseError): KafkaRefused {
  const errors: readonly ProtocolError[] = error.errors;
  const cause = errors.find((one) => one['apiId'] !== 'OPERATION_NOT_ATTEMPTED') ?? errors[0];
  const details = cause?.['serverErrorMessage'] ?? '';
  return new KafkaRefused(`${error.message} ${details}`.trim(), String(cause?.['apiId']), error['response']);
}

/** Takes the response out of a refusal, for callers that judge each part of it. Use it in `catch`. */
export function asResponse<R>(error: unknown): R {
  if (error instanceof KafkaRefused && error.response !== undefined) return error.response as R;
  throw error;
}

export function isRefused(error: unknown, ...reasons: readonly string[]): boolean {
  return error instanceof KafkaRefused && reasons.includes(error.reason);
}

/** True if the same request may succeed later: no answer came, or a leader or coordinator has moved or is not ready. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof KafkaRefused)) return true;
  return outcomeUnknown.includes(error.reason) || protocolErrors[error.reason]?.canRetry === true;
}

/** Throws KafkaRefused unless the code means success. */
export function assertAccepted(what: string, code: number): void {
  if (code !== NO_ERROR) throw new KafkaRefused(what, nameOfCode(code));
}
