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
 * Returns the headers of an answer to facts that the log has acknowledged: their position, `<partition>:<offset>` of
 * the last fact of each partition, and a receipt if the request prefers one. If the request prefers to wait, waits
 * until the facts are in the router's feed, or until routers have seen them.
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
  /** The preference that was applied. Undefined if there was none, or the time was too short. */
  readonly waited: string | undefined;
  /** The routers that were waited for and have not said that they have seen the facts. */
  readonly unseenBy: readonly string[];
}

/** The share of concurrent requests that may wait. */
const WAITING_SHARE = 0.25;

const notWaited: Waited = { waited: undefined, unseenBy: [] };

/**
 * Rows are never ahead of the feed. So once the rows have passed the cancellations, the feed has the tombstones. The
 * rows then also tell whether the book ever had the orders. If it had none, there is nothing for routers to see.
 * @param cancelled the orders, if the facts name them
 */
async function awaitFeed(
  parts: AcknowledgingParts,
  prefer: string | string[] | undefined,
  appended: readonly AppendedAt[],
  cancelled: readonly Hex[] | undefined,
): Promise<Waited> {
  const { settings, waits } = parts;
  const wait = parseWait(prefer, settings.CANCEL_WAIT_SECONDS_MAX);
  // Waiting requests leave places to others: one router that is down must not stop all makers.
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
