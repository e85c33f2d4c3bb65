/**
 * Reads `wait` of the header `Prefer` (RFC 7240): how long the answer may wait for what the request has led to. A preference
 * that is not understood counts as none.
 * @returns whole seconds, at most `secondsMax`; 0 where nothing is to be waited for
 */
export function parseWait(prefer: string | string[] | undefined, secondsMax: number): number {
  for (const preference of [prefer ?? ''].flat().join(',').split(',')) {
    const [, seconds] = /^\s*wait\s*=\s*"?([0-9]{1,9})"?\s*(?:;|$)/i.exec(preference) ?? [];
    if (seconds !== undefined) return Math.min(Number(seconds), secondsMax);
  }
  return 0;
}
