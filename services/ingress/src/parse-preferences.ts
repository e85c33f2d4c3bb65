/** The header `Prefer` (RFC 7240), as a request has it. */
type Prefer = string | string[] | undefined;

/**
 * Reads `wait` of a request's preferences: how long the answer may wait for what the request has led to. A preference that is
 * not understood counts as none.
 * @returns whole seconds, at most `secondsMax`; 0 where nothing is to be waited for
 */
export function parseWait(prefer: Prefer, secondsMax: number): number {
  for (const preference of preferencesOf(prefer)) {
    const [, seconds] = /^\s*wait\s*=\s*"?([0-9]{1,9})"?\s*(?:;|$)/i.exec(preference) ?? [];
    if (seconds !== undefined) return Math.min(Number(seconds), secondsMax);
  }
  return 0;
}

/** Whether a request prefers an answer with a receipt. */
export function prefersReceipt(prefer: Prefer): boolean {
  return preferencesOf(prefer).some((preference) => /^\s*receipt\s*(?:;|$)/i.test(preference));
}

function preferencesOf(prefer: Prefer): string[] {
  return prefer === undefined ? [] : [prefer].flat().join(',').split(',');
}
