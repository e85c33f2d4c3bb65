import type { BlockHeader } from '@makerbook/chain';
import type { Cause, MakerFact } from '@makerbook/contracts-events';
import { isNews } from './is-news.js';
import type { WatchedSet } from './keep-watched-set.js';
import type { Touched } from './match-logs.js';
import { type FactReader, readFacts } from './read-facts.js';

/**
 * Reads watched pairs and makers anew, those with slots from `from` on, at most `countMax` of each, and gives facts only
 * of what the log does not already say. Its cost follows the number of pairs.
 * @returns the facts, and the slot to go on from; undefined when none is left
 */
export async function rereadSlots(
  reader: FactReader,
  watched: WatchedSet,
  header: BlockHeader,
  occasion: 'CATCH_UP' | 'SWEEP',
  from: number,
  countMax: number,
): Promise<{ facts: MakerFact[]; next: number | undefined; pairs: number }> {
  const cause: Cause = { kind: 'read', occasion };
  const touched: Touched = { pairs: [], makers: [], orders: [] };
  const end = watched.slotsEnd;
  let slot = from;
  for (; slot < end && touched.pairs.length < countMax && touched.makers.length < countMax; slot += 1) {
    if (watched.isPairWatched(slot)) {
      const maker = watched.makerAddress(watched.makerOf(slot));
      touched.pairs.push({ maker, token: watched.tokenAddress(slot), cause });
    }
    if (watched.isMakerWatched(slot)) touched.makers.push({ maker: watched.makerAddress(slot), cause });
  }
  const facts = await readFacts(reader, touched, header);
  return {
    facts: facts.filter((fact) => isNews(fact, watched)),
    next: slot < end ? slot : undefined,
    pairs: touched.pairs.length,
  };
}
