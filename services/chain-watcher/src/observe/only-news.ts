import { partitionOf } from '@makerbook/kafka';
import type { Observed } from '../publish/publish-observed.js';
import { within } from '../within.js';
import type { Holder } from './holder.js';

const READ_BACK_MS = 1_000;

/**
 * Leaves out readings that repeat the newest values in the log. First reads back what was appended last: otherwise a
 * value that changed twice would seem unchanged. If that takes too long, nothing is left out. Call it with the mutex
 * held.
 */
export async function onlyNews(
  observed: readonly Observed[],
  {
    watched,
    followed,
    publisher,
    partitions,
    wait,
  }: Holder<'watched' | 'followed' | 'publisher' | 'partitions' | 'wait'>,
): Promise<readonly Observed[]> {
  const concerned = new Set(observed.map(({ fact }) => partitionOf(fact.maker, partitions)));
  const isReadBack = (one: number) => publisher.isBefore(one, followed.partitions[one]?.position ?? 0n);
  const areReadBack = () => [...concerned].every(isReadBack);
  if (!areReadBack()) await within(wait(READ_BACK_MS), (over) => followed.until(areReadBack, over));
  return observed.filter(({ fact }) => !isReadBack(partitionOf(fact.maker, partitions)) || watched.isNews(fact));
}

/**
 * Leaves out put-off funds that the log already holds as put off, because a maker with many tokens that burn gas would
 * make a large record. If the newest reading is unknown, nothing is left out.
 */
export function withoutPutOff(
  observed: readonly Observed[],
  { watched, followed, publisher, partitions }: Holder<'watched' | 'followed' | 'publisher' | 'partitions'>,
): readonly Observed[] {
  return observed.flatMap((each) => {
    const { maker, nonce, funds, orders, fills, signaturesUnread } = each.fact;
    const partition = partitionOf(maker, partitions);
    // The first reading of an order must have its funds.
    if (orders.length > 0 || !funds.some(({ unread }) => unread)) return each;
    if (!publisher.isBefore(partition, followed.partitions[partition]?.position ?? 0n)) return each;
    const news = funds.filter(({ token, unread }) => !unread || !watched.isPutOff(maker, token));
    const hasMore = news.length > 0 || nonce !== undefined || fills !== undefined || signaturesUnread;
    return hasMore ? { ...each, fact: { ...each.fact, funds: news } } : [];
  });
}
