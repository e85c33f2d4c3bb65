import type { BlockHeader } from '@makerbook/chain';
import type { Cause } from '@makerbook/contracts-events';
import type { WatchedSet } from './keep-watched-set.js';
import type { Touched } from './match-logs.js';
import type { FactPublisher } from './publish-facts.js';
import { type FactReader, readFacts } from './read-facts.js';

export interface ConfirmOptions {
  readonly watched: WatchedSet;
  readonly reader: FactReader;
  readonly publisher: FactPublisher;
  readonly matched: () => BlockHeader | undefined;
  readonly intervalMs: number;
  readonly signal: AbortSignal;
  readonly wait: (ms: number) => Promise<void>;
  readonly retry: <T>(work: () => Promise<T>) => Promise<T>;
}

const CAUSE: Cause = { kind: 'read', occasion: 'ORDER' };
const PAIRS_MAX = 500;

/**
 * Publishes again what is known of pairs that a new order joined, once in each interval. The watched set may hold an
 * order that the fold of the domain does not (its hash was removed before, and that was forgotten), and so take for
 * known what the fold does not know: then the order that joined would stay VALIDATING. A repeat of values is harmless.
 */
export async function confirmJoined(options: ConfirmOptions): Promise<void> {
  const { watched, reader, publisher, matched, intervalMs, signal, wait, retry } = options;
  while (!signal.aborted) {
    await wait(intervalMs);
    const block = matched();
    if (block === undefined) continue;
    for (let pairs = watched.takeJoined(PAIRS_MAX); pairs.length > 0 && !signal.aborted; ) {
      const touched: Touched = { pairs: [], makers: [], orders: [] };
      const makers = new Set<number>();
      for (const pair of pairs) {
        const makerSlot = watched.makerOf(pair);
        const maker = watched.makerAddress(makerSlot);
        touched.pairs.push({ maker, token: watched.tokenAddress(pair), cause: CAUSE });
        if (!makers.has(makerSlot)) touched.makers.push({ maker, cause: CAUSE });
        makers.add(makerSlot);
      }
      await retry(async () => publisher.publish(await readFacts(reader, touched, matched() ?? block)));
      pairs = watched.takeJoined(PAIRS_MAX);
    }
  }
}
