import { topicNames } from '@makerbook/contracts-events';
import type { OpenStack } from '../kit/open-stack.js';
import type { PutOrders } from '../kit/put-orders-on.js';

/** A broker that is gone keeps its partitions for 9 s. Then others lead, which a busy machine reports late. */
export const BROKER_AWAY_MS_MAX = 30_000;

/** Tells the longest silence of each call and of the feed. @returns those that were silent for too long */
export function tellSilence(
  load: PutOrders,
  { requests: requestsMs, feed: feedMs }: Record<'requests' | 'feed', number>,
) {
  const { place, list, cancel, feed } = load.silentMs();
  const silences: readonly [what: string, ms: number, msMax: number][] = [
    ['an answer of 200 to POST', place, requestsMs],
    ['one to GET', list, requestsMs],
    ['one to DELETE', cancel, requestsMs],
    ['a block in the whole feed, with one each second', feed, feedMs],
  ];
  const tell = ([what, ms]: (typeof silences)[number]) => `${(ms / 1000).toFixed(1)} s without ${what}`;
  console.log(`at most ${silences.map(tell).join(', ')}`);
  return silences
    .filter(([, ms, msMax]) => ms > msMax)
    .map((silence) => `${tell(silence)}: ${silence[2]} ms are the most`);
}

export const topicsOf = ({ topicPrefix }: Pick<OpenStack, 'topicPrefix'>): string[] =>
  Object.values(topicNames(topicPrefix));
