import { type ProtocolError, protocolErrorsCodesById, type ResponseError } from '@platformatic/kafka';

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

/** The partition has another leader now, or its leader cannot store anything yet: send the batch again. */
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
  readonly response: unknown;

  constructor(what: string, reason: string, response?: unknown) {
    super(`${what}: ${reason}`);
    this.reason = reason;
    this.response = response;
  }
}

/** Where several partitions are refused, one is the cause and the others were not attempted. */
export function refusalOf(error: ResponseError): KafkaRefused {
  const errors: readonly ProtocolError[] = error.errors;
  const cause = errors.find((one) => one['apiId'] !== 'OPERATION_NOT_ATTEMPTED') ?? errors[0];
  const details = cause?.['serverErrorMessage'] ?? '';
  return new KafkaRefused(`${error.message} ${details}`.trim(), String(cause?.['apiId']), error['response']);
}

/** Answers with the response that a broker refused a part of, for callers that judge each part: use it in `catch`. */
export function asResponse<R>(error: unknown): R {
  if (error instanceof KafkaRefused && error.response !== undefined) return error.response as R;
  throw error;
}

export function isRefused(error: unknown, reasons: ReadonlySet<string>): boolean {
  return error instanceof KafkaRefused && reasons.has(error.reason);
}

/** Throws KafkaRefused unless the code is that of success. */
export function assertAccepted(what: string, code: number): void {
  if (code !== NO_ERROR) throw new KafkaRefused(what, nameOfCode(code));
}
