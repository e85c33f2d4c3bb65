import type { Refusal as Decided, Verdict } from '@makerbook/domain';
import { type Refusal, type ReplyHeaders, rateHeaders, refuseFields, unavailable } from '@makerbook/http';

/** Turns a refusal of the domain into an answer. */
export function refuse(refusal: Decided, left?: Verdict['left']): Refusal {
  const { code, index, pointer, detail, retryAfterMs, counts, remainingMakingAmount } = refusal;
  const headers = describeBudget(left, retryAfterMs);
  if (code === 'unavailable') {
    const seconds = retryAfterMs === undefined ? undefined : retryAfterMs / 1000;
    return { ...unavailable(detail, seconds), ...(index !== undefined && { index }) };
  }
  if (code === 'invalid_request' && index === undefined && pointer !== undefined) {
    return { ...refuseFields([{ path: pointer.slice(1).split('/'), message: detail }]), headers };
  }
  const errors =
    pointer === undefined ? undefined : [{ pointer: `${index === undefined ? '' : `/${index}`}${pointer}`, detail }];
  return {
    code,
    detail,
    ...(index !== undefined && { index }),
    ...(errors && { errors }),
    ...(counts && { counts }),
    ...(remainingMakingAmount !== undefined && { remainingMakingAmount }),
    headers,
  };
}

/** Tells what is left of the budgets. @param retryAfterMs given if the request was refused for its budget */
export function describeBudget(left: Verdict['left'], retryAfterMs?: number): ReplyHeaders {
  return left === undefined ? {} : rateHeaders(left.of, left.makers, left.remaining, retryAfterMs);
}

/** Makes a refusal point to the item in its list of the body. */
export function inList(list: 'cancel' | 'place', refusal: Refusal): Refusal {
  const { errors, index, detail } = refusal;
  const named = errors ?? (index === undefined ? [] : [{ pointer: `/${index}`, detail }]);
  if (named.length === 0) return refusal;
  return { ...refusal, errors: named.map((one) => ({ ...one, pointer: `/${list}${one.pointer}` })) };
}
