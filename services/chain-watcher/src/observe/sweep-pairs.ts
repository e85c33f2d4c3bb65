import { accountIn } from '@makerbook/chain';
import type { Cause } from '@makerbook/contracts-events';
import type { Observed } from '../publish/publish-observed.js';
import { Touched } from '../watch/match-logs.js';
import type { WatchedMaker, WatchedPair } from '../watch/watched-maker.js';
import type { Holder } from './holder.js';
import { onlyNews } from './only-news.js';
import { proveTakingTokens } from './prove-taking-tokens.js';
import { type MakerReader, readMakers } from './read-makers.js';

const CAUSE: Cause = { kind: 'read', occasion: 'SWEEP' };
const PAUSE_MS = 1000;
/** How many pairs of one maker fit into one reading, whatever gas they burn. */
const STEP_PAIRS_MAX = 50;
/** How many put-off pairs are read in a second, of one maker and in all. */
const PUT_OFF_OF_MAKER_MAX = 5;
const PUT_OFF_PAIRS_MAX = 20;
/** After how many blocks a pair that could not be read is retried, and how many pairs at a time. */
const UNREADABLE_BLOCKS = 10;
const UNREADABLE_PAIRS_MAX = 20;

type PairWork = Holder<
  'position' | 'readingBlocks' | 'publisher' | 'sweep' | 'watched' | 'followed' | 'partitions' | 'wait'
>;

/**
 * Rereads pairs that no log touches, with their makers' nonces, at the block that was processed last. Reads all pairs
 * over and over, so many in a second, because some tokens change balances or allowances without a log (rebasing, fees).
 * Reads put-off pairs in turn, and pairs that could not be read some blocks later. Publishes only what the log does not
 * hold already.
 */
export async function sweepPairs(
  work: PairWork & Holder<'settings' | 'signal' | 'monotonicMs' | 'retryFor' | 'mutex'>,
  reader: MakerReader,
): Promise<void> {
  const { settings, sweep, signal, watched, monotonicMs, wait } = work;
  const retry = work.retryFor('sweep');
  const read = (choose: () => readonly WatchedPair[]) =>
    retry(() => work.mutex.run(() => readAndPublish(choose(), work, reader)));
  let pairs: readonly WatchedPair[] = [];
  let from = 0;
  let startedAtMs = monotonicMs();
  sweep.startedAtMs = startedAtMs;
  let unreadableDueBlock = 0;
  while (!signal.aborted) {
    await wait(PAUSE_MS);
    const { phase, processed } = work.position;
    if (phase !== 'FOLLOWING' || processed === undefined || signal.aborted) continue;
    await retry(() => proveTakingTokens(work, reader));
    const putOff = putOffPairs(work);
    if (await read(() => putOff)) watched.waitAgain(putOff);
    if (processed.number >= unreadableDueBlock && reader.state.suspects().size > 0) {
      if (await read(() => unreadablePairs(work, reader))) unreadableDueBlock = processed.number + UNREADABLE_BLOCKS;
    }
    for (let left = settings.SWEEP_PAIRS_PER_SECOND; left > 0 && !signal.aborted; left -= STEP_PAIRS_MAX) {
      if (from === 0) pairs = [...watched.makers()].flatMap((maker) => [...maker.pairs.values()]);
      const step = pairs.slice(from, from + Math.min(left, STEP_PAIRS_MAX));
      if (!(await read(() => step))) break;
      from += step.length;
      if (from < pairs.length) continue;
      from = 0;
      const endedAtMs = monotonicMs();
      sweep.tookMs = endedAtMs - startedAtMs;
      startedAtMs = endedAtMs;
      sweep.startedAtMs = endedAtMs;
      break;
    }
  }
}

/** Returns false if it has to wait: other changes up to the block to read at are not in the log yet. */
async function readAndPublish(pairs: readonly WatchedPair[], work: PairWork, reader: MakerReader): Promise<boolean> {
  const { position, readingBlocks, publisher, sweep, watched } = work;
  const { matched, processed } = position;
  if (matched === undefined || processed?.number !== matched.number) return false;
  const at = await readingBlocks.choose(matched);
  if (at.number > matched.number) return false;
  const touched = new Touched(watched);
  for (const pair of pairs) {
    if (watched.findPair(pair.token, pair.maker.address) !== pair) continue;
    touched.nonce(pair.maker, CAUSE);
    touched.pair(pair, CAUSE);
  }
  const observed = await readMakers(reader, touched.makers.values(), at);
  const news = await onlyNews(observed.map(withoutUnread), work);
  await publisher.publish(news);
  for (const { tokens } of touched.makers.values()) sweep.pairs += tokens.size;
  sweep.facts += news.length;
  return true;
}

/** Drops values that were put off here. No block has changed them, so their last reading still holds. */
function withoutUnread({ fact, trace }: Observed): Observed {
  return { fact: { ...fact, funds: fact.funds.filter(({ unread }) => !unread) }, trace };
}

/** The put-off pairs that have waited longest, some of each maker. */
function putOffPairs({ watched }: Holder<'watched'>): WatchedPair[] {
  const counts = new Map<WatchedMaker, number>();
  const chosen: WatchedPair[] = [];
  for (const pair of watched.putOff.keys()) {
    const count = counts.get(pair.maker) ?? 0;
    if (count === PUT_OFF_OF_MAKER_MAX) continue;
    counts.set(pair.maker, count + 1);
    if (chosen.push(pair) === PUT_OFF_PAIRS_MAX) break;
  }
  return chosen;
}

/** Pairs with a value that could not be read last time. Those that have waited longest come first. */
function unreadablePairs({ watched }: Holder<'watched'>, { state }: MakerReader): WatchedPair[] {
  const pairs = new Set<WatchedPair>();
  for (const call of state.suspects().values()) {
    const maker = accountIn(call);
    const pair = maker === undefined ? undefined : watched.findPair(call.to, maker);
    if (pair !== undefined && pairs.add(pair).size === UNREADABLE_PAIRS_MAX) break;
  }
  return [...pairs];
}
