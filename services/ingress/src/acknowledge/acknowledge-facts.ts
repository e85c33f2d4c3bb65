import { type Hex, unlessAway } from '@makerbook/contracts-primitives';
import type { ApiRequest, ReplyHeaders } from '@makerbook/http';
import type { AppendedAt } from '@makerbook/kafka';
import { parseWait, prefersReceipt } from '../parse/parse-preferences.js';
import type { Parts } from '../parts.js';
import type { Acknowledged } from './sign-receipts.js';

export type AcknowledgingParts = Pick<
  Parts,
  'settings' | 'projection' | 'acks' | 'store' | 'signReceipt' | 'monotonicMs' | 'waits'
>;

/**
 * The headers of an answer to facts that the log has acknowledged: their position, `<partition>:<offset>` of the last
 * one of each partition, and what the request prefers: a receipt, and to wait until the facts are in the router's feed,
 * or seen by routers.
 * @param mayWait whether the request may wait
 */
export async function acknowledge(
  parts: AcknowledgingParts,
  request: ApiRequest,
  appended: readonly AppendedAt[],
  acknowledged: Acknowledged,
  mayWait: boolean,
): Promise<ReplyHeaders> {
  const prefer = request.headers['prefer'];
  const position = appended.map(({ partition, offset }) => `${partition}:${offset}`).join(', ');
  const receipt = prefersReceipt(prefer) ? parts.signReceipt?.(acknowledged, position) : undefined;
  const { waited, unseenBy } = mayWait ? await awaitFeed(parts, prefer, appended, acknowledged.cancelled) : notWaited;
  const applied = [waited ?? [], receipt === undefined ? [] : 'receipt'].flat();
  return {
    'X-Log-Position': position,
    ...(receipt && { 'X-Receipt': receipt }),
    ...(unseenBy.length > 0 && { 'X-Unseen-By': unseenBy.join(', ') }),
    ...(applied.length > 0 && { 'Preference-Applied': applied.join(', ') }),
  };
}

interface Waited {
  /** The preference that was applied; undefined where there was none, or the time was not enough. */
  readonly waited: string | undefined;
  /** The routers that have not said that they have seen the facts, where they were waited for. */
  readonly unseenBy: readonly string[];
}

/** The share of the places for requests in which requests may wait. */
const WAITING_SHARE = 0.25;

const notWaited: Waited = { waited: undefined, unseenBy: [] };

/**
 * Rows are never ahead of the feed: where the rows have passed the cancellations, routers have the tombstones. By then
 * they also tell whether the book ever had the orders: if it had none, there is nothing for routers to see.
 * @param cancelled the orders, where the facts name them
 */
async function awaitFeed(
  parts: AcknowledgingParts,
  prefer: string | string[] | undefined,
  appended: readonly AppendedAt[],
  cancelled: readonly Hex[] | undefined,
): Promise<Waited> {
  const { settings, waits } = parts;
  const wait = parseWait(prefer, settings.CANCEL_WAIT_SECONDS_MAX);
  // Those that wait leave the other places to requests that do not: one router that is away must not stop all makers.
  if (wait.seconds === 0 || waits.underWay >= settings.CONCURRENT_REQUESTS_MAX * WAITING_SHARE) return notWaited;
  waits.underWay += 1;
  try {
    return await waitFor(parts, wait, appended, cancelled);
  } finally {
    waits.underWay -= 1;
  }
}

async function waitFor(
  { projection, acks, store, monotonicMs }: AcknowledgingParts,
  { seconds, isByRouter }: ReturnType<typeof parseWait>,
  appended: readonly AppendedAt[],
  cancelled: readonly Hex[] | undefined,
): Promise<Waited> {
  const deadlineMs = monotonicMs() + seconds * 1000;
  const isOut = await unlessAway(projection.havePassed(appended, seconds * 1000));
  const waited = isOut ? `wait=${seconds}` : undefined;
  if (!isByRouter || acks === undefined) return { waited, unseenBy: [] };
  const isUnknown = isOut && cancelled !== undefined && (await unlessAway(store.wereNeverInBook(cancelled)));
  const unseenBy = isUnknown ? [] : await acks.awaitSeen(appended, deadlineMs - monotonicMs());
  return unseenBy.length === 0 ? { waited: `wait=${seconds}; by=router`, unseenBy } : { waited, unseenBy };
}
