import type { Logger } from '@makerbook/telemetry';

/** The fields of a line about an answer. */
export interface Answered {
  /** The request id that the answer has too. */
  readonly requestId: string;
  /** Method and route: `POST /v0alpha/limit-orders`. */
  readonly endpoint: string;
  readonly status: number;
  readonly maker?: string | undefined;
  readonly reader?: string | undefined;
  readonly code?: string;
  /** The item of the request that was refused. */
  readonly index?: number;
  readonly detail?: string;
}

const REFUSALS_PER_SECOND_MAX = 20;
const SUCCESSES_PER_LINE = 100;
const DETAIL_CHARACTERS_MAX = 300;

/** Called for the answer to each request. `describe` is called only if a line is written. */
export type AnswerLog = (isRefused: boolean, describe: () => Answered) => void;

/**
 * Writes a line for each refusal and for each hundredth success, so that an answer's request id leads to the log. Only
 * counts refusals beyond twenty in a second: a flood costs no more than its answers.
 */
export function logAnswers(logger: Logger): AnswerLog {
  let successes = 0;
  let refusals = 0;

  function endSecond(): void {
    const leftOut = refusals - REFUSALS_PER_SECOND_MAX;
    if (leftOut > 0) logger.warn({ refusals: leftOut }, 'more requests were refused in this second');
    refusals = 0;
  }

  return (isRefused, describe) => {
    if (!isRefused) {
      if (successes % SUCCESSES_PER_LINE === 0) logger.info(describe(), 'a request was answered: one of a hundred');
      successes += 1;
      return;
    }
    if (refusals === 0) setTimeout(endSecond, 1_000).unref();
    refusals += 1;
    if (refusals > REFUSALS_PER_SECOND_MAX) return;
    const { detail, ...answered } = describe();
    const fields = { ...answered, detail: detail?.slice(0, DETAIL_CHARACTERS_MAX) };
    if (answered.status < 500) logger.info(fields, 'a request was refused');
    else logger.warn(fields, 'a request was refused');
  };
}
