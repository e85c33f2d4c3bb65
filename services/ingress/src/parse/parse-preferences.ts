/** The header `Prefer` (RFC 7240), as a request has it. */
type Prefer = string | string[] | undefined;

/** How long an answer may wait for the effects of its request. */
export interface Wait {
  /** Whole seconds. 0: the answer does not wait. */
  readonly seconds: number;
  /** True if it waits for routers, and not only for their feed. */
  readonly isByRouter: boolean;
}

/** Reads `wait` from a request's preferences, `secondsMax` at most. A value that is not understood counts as none. */
export function parseWait(prefer: Prefer, secondsMax: number): Wait {
  for (const preference of preferencesOf(prefer)) {
    const [, seconds, parameters = ''] = /^\s*wait\s*=\s*"?([0-9]{1,9})"?\s*(;.*)?$/i.exec(preference) ?? [];
    if (seconds === undefined) continue;
    const isByRouter = /;\s*by\s*=\s*"?router"?\s*(?:;|$)/i.test(parameters);
    return { seconds: Math.min(Number(seconds), secondsMax), isByRouter };
  }
  return { seconds: 0, isByRouter: false };
}

/** True if a request prefers an answer with a receipt. */
export function prefersReceipt(prefer: Prefer): boolean {
  return preferencesOf(prefer).some((preference) => /^\s*receipt\s*(?:;|$)/i.test(preference));
}

function preferencesOf(prefer: Prefer): string[] {
  return prefer === undefined ? [] : [prefer].flat().join(',').split(',');
}
