import { protocolErrorsCodesById } from '@platformatic/kafka';

export const NO_ERROR = 0;

/** The coordinator of a group or of a transactional id is another broker now, or not ready yet. */
export const coordinatorMoved: ReadonlySet<string> = new Set([
  'COORDINATOR_LOAD_IN_PROGRESS',
  'COORDINATOR_NOT_AVAILABLE',
  'NOT_COORDINATOR',
]);

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
