import type { ApiRequest, ReplyHeaders } from '@makerbook/http';
import type { AppendedAt } from '@makerbook/kafka';
import { unlessAway } from '@makerbook/postgres';
import { parseWait, prefersReceipt } from './parse-preferences.js';
import type { Parts } from './parts.js';
import type { Acknowledged } from './sign-receipts.js';

/**
 * The headers of an answer to facts that the log has acknowledged: their position, `<partition>:<offset>` of the last one of each
 * partition, and what the request prefers: a receipt, and to wait until the facts are in the router's feed.
 * @param mayWait whether the request may wait
 */
export async function acknowledge(
  parts: Parts,
  request: ApiRequest,
  appended: readonly AppendedAt[],
  acknowledged: Acknowledged,
  mayWait: boolean,
): Promise<ReplyHeaders> {
  const prefer = request.headers['prefer'];
  const position = appended.map(({ partition, offset }) => `${partition}:${offset}`).join(', ');
  const receipt = prefersReceipt(prefer) ? parts.signReceipt?.(acknowledged, position) : undefined;
  const seconds = mayWait ? await awaitFeed(parts, prefer, appended) : 0;
  const applied = [seconds === 0 ? [] : `wait=${seconds}`, receipt === undefined ? [] : 'receipt'].flat();
  return {
    'X-Log-Position': position,
    ...(receipt && { 'X-Receipt': receipt }),
    ...(applied.length > 0 && { 'Preference-Applied': applied.join(', ') }),
  };
}

/**
 * The rows are behind the feed, never ahead of it: where they have passed the cancellations, the tombstones are out.
 * @returns the seconds that were preferred; 0 where they are none, or were not enough
 */
async function awaitFeed(
  { settings, rows }: Parts,
  prefer: string | string[] | undefined,
  appended: readonly AppendedAt[],
): Promise<number> {
  const seconds = parseWait(prefer, settings.CANCEL_WAIT_SECONDS_MAX);
  return seconds > 0 && (await unlessAway(rows.havePassed(appended, seconds * 1000))) ? seconds : 0;
}
