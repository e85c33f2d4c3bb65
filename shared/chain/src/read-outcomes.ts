import { RpcRefused, RpcUnavailable } from './failures.js';

export interface RpcRequest {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** The outcome of one of several calls: its result, or a failed execution (RpcRefused.isOfExecution). */
export type RpcOutcome = { readonly result: unknown } | { readonly failure: RpcRefused };

interface RpcAnswer {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code?: unknown; readonly message?: unknown };
}

/** Returns the outcomes of the requests. Throws RpcUnavailable if one has no answer that makes sense. */
export function outcomesOf(
  answer: unknown,
  requests: readonly RpcRequest[],
  firstId: number,
  { name, hideSecrets }: { readonly name: string; readonly hideSecrets: (text: string) => string },
): RpcOutcome[] {
  const answers = (Array.isArray(answer) ? answer : [answer]) as readonly (RpcAnswer | null)[];
  const byId = new Map(answers.map((each) => [each?.id, each]));
  return requests.map(({ method }, index) => {
    // A batch that is refused as a whole, as too large for example, has one answer without an id.
    const one = byId.get(firstId + index) ?? (answers.length === 1 ? answers[0] : undefined);
    if (one === undefined || one === null || typeof one !== 'object') {
      throw new RpcUnavailable(`${name} left the call ${method} without an answer`);
    }
    if (one.error !== undefined && one.error !== null) {
      const { code, message } = one.error;
      const reason = hideSecrets(String(message ?? 'no reason'));
      return { failure: new RpcRefused(method, typeof code === 'number' ? code : 0, reason, { endpoint: name }) };
    }
    if (!('result' in one) || one.id !== firstId + index) {
      throw new RpcUnavailable(`${name} answered ${method} with no result`);
    }
    return { result: one.result };
  });
}

/** Returns all results, or throws the first failure. */
export function resultsOf(outcomes: readonly RpcOutcome[]): unknown[] {
  return outcomes.map((outcome) => {
    if ('failure' in outcome) throw outcome.failure;
    return outcome.result;
  });
}
