import type { FieldProblem, Problem, ProblemCode } from '@makerbook/contracts-http';

/**
 * Why a call failed: a code of the service, or one of the client's own. `unreachable`: no answer came, in time or at
 * all. `unreadable`: what came is no answer of the service. A newer service may answer other codes.
 */
export type MakerbookErrorCode = ProblemCode | 'unreachable' | 'unreadable' | (string & {});

/** What is known of a failed call. */
export interface Failure {
  readonly code: MakerbookErrorCode;
  readonly status: number;
  readonly detail: string;
  readonly retryable: boolean;
  readonly requestId?: string | undefined;
  readonly errors?: readonly FieldProblem[] | undefined;
  readonly index?: number | undefined;
  readonly retryAfterSeconds?: number | undefined;
  /** If left out, code and status decide. */
  readonly mayHaveHappened?: boolean;
  readonly problem?: Problem | undefined;
  readonly cause?: unknown;
}

/** A call that failed. Switch on `code`; `detail` is a sentence for a person. */
export class MakerbookError extends Error {
  override readonly name = 'MakerbookError';
  readonly code: MakerbookErrorCode;
  /** The HTTP status; 0 if no answer came. */
  readonly status: number;
  readonly detail: string;
  /** The request's id in the service's logs; undefined if no answer came. */
  readonly requestId: string | undefined;
  /** Whether the same call can succeed later. */
  readonly retryable: boolean;
  /** The fields of the request that are wrong. */
  readonly errors: readonly FieldProblem[] | undefined;
  /** The item of the request that failed, from 0. */
  readonly index: number | undefined;
  /** How long to wait before the next try, from `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;
  /** Whether this try or an earlier one may have reached the service and done its work, although the call failed. */
  readonly mayHaveHappened: boolean;

  /**
   * The body of the refusal, as it came. Some codes have fields of their own: `counts` of `superseded`, and
   * `remainingMakingAmount` of `remaining_changed`. Undefined if no answer of the service came.
   */
  readonly problem: Problem | undefined;

  constructor(failure: Failure) {
    super(`${failure.code}: ${failure.detail}`, { cause: failure.cause });
    this.code = failure.code;
    this.status = failure.status;
    this.detail = failure.detail;
    this.requestId = failure.requestId;
    this.retryable = failure.retryable;
    this.errors = failure.errors;
    this.index = failure.index;
    this.retryAfterSeconds = failure.retryAfterSeconds;
    this.problem = failure.problem;
    const isUnknown = this.code === 'unreachable' || this.code === 'unreadable' || this.status >= 500;
    this.mayHaveHappened = failure.mayHaveHappened ?? isUnknown;
  }
}

/** The same error, with `mayHaveHappened`: an earlier try may have done the work. */
export const thatMayHaveHappened = (error: MakerbookError): MakerbookError =>
  error.mayHaveHappened ? error : new MakerbookError({ ...error, mayHaveHappened: true, cause: error });
