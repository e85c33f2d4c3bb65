/** The header `Prefer` (RFC 7240), as a request has it. */
type Prefer = string | string[] | undefined;

/** How long an answer may wait for what its request has led to. */
export interface Wait {
  /** Whole; 0 where nothing is to be waited for. */
  readonly seconds: number;
  /** Whether it waits for routers, and not for their feed alone. */
  readonly isByRouter: boolean;
}

/** Reads `wait` of a request's preferences, at most `secondsMax`. One that is not understood counts as none. */
export function parseWait(prefer: Prefer, secondsMax: number): Wait {
  for (const preference of preferencesOf(prefer)) {
    const [, seconds, parameters = ''] = /^\s*wait\s*=\s*"?([0-9]{1,9})"?\s*(;.*)?$/i.exec(preference) ?? [];
    if (seconds === undefined) continue;
    const isByRouter = /;\s*by\s*=\s*"?router"?\s*(?:;|$)/i.test(parameters);
    return { seconds: Math.min(Number(seconds), secondsMax), isByRouter };
  }
  return { seconds: 0, isByRouter: false };
}

/** Whether a request prefers an answer with a receipt. */
export function prefersReceipt(prefer: Prefer): boolean {
  return preferencesOf(prefer).some((preference) => /^\s*receipt\s*(?:;|$)/i.test(preference));
}

function preferencesOf(prefer: Prefer): string[] {
  return prefer === undefined ? [] : [prefer].flat().join(',').split(',');
}
