import type { FieldProblem, Problem, ProblemCode } from '@makerbook/contracts-http';

/**
 * Why a call failed: a code of the service (Interface 7), or one of the client's own.
 * `unreachable`: no answer came, in time or at all. `unreadable`: what came is no answer of the service. A newer service may
 * answer other codes.
 */
export type MakerbookErrorCode = ProblemCode | 'unreachable' | 'unreadable' | (string & {});

/** A call that failed. Switch on `code`; `detail` is a sentence for a person. */
export class MakerbookError extends Error {
  override readonly name = 'MakerbookError';
  readonly code: MakerbookErrorCode;
  /** The HTTP status; 0 where no answer came. */
  readonly status: number;
  readonly detail: string;
  /** By which the service's logs name the request; undefined where no answer came. */
  readonly requestId: string | undefined;
  /** Whether the same call can succeed later. */
  readonly retryable: boolean;
  /** The places of the request that are wrong. */
  readonly errors: readonly FieldProblem[] | undefined;
  /** The item of the request that failed, from 0. */
  readonly index: number | undefined;
  /** How long to wait before the next try, from `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    problem: Pick<Problem, 'status' | 'detail' | 'retryable'> &
      Partial<Pick<Problem, 'requestId' | 'errors' | 'index'>> & {
        readonly code: MakerbookErrorCode;
        readonly retryAfterSeconds?: number | undefined;
        readonly cause?: unknown;
      },
  ) {
    super(`${problem.code}: ${problem.detail}`, { cause: problem.cause });
    this.code = problem.code;
    this.status = problem.status;
    this.detail = problem.detail;
    this.requestId = problem.requestId;
    this.retryable = problem.retryable;
    this.errors = problem.errors;
    this.index = problem.index;
    this.retryAfterSeconds = problem.retryAfterSeconds;
  }

  /** Whether the service may have done its work although the call failed. */
  get mayHaveHappened(): boolean {
    return this.code === 'unreachable' || this.code === 'unreadable' || this.status >= 500;
  }
}
