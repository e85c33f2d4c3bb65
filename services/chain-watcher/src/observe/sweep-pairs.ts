import { accountIn } from '@makerbook/chain';
import type { Cause } from '@makerbook/contracts-events';
import { Touched } from '../watch/match-logs.js';
import type { WatchedMaker, WatchedPair } from '../watch/watched-set.js';
import type { HolderWork } from './holder-work.js';
import { onlyNews } from './only-news.js';
import { type MakerReader, readMakers } from './read-makers.js';
import { takeMakers } from './take-makers.js';

/**
 * Reads makers anew that no log touches: all of them over and over, so many pairs in a second, for tokens that change
 * balances or allowances without a log (rebasing, fees), and for wallets that change their mind without one; and pairs that
 * could not be read, some blocks later. They are read at the block that was processed last. Only what the log does not hold
 * already is published.
 */
export async function sweepPairs(work: HolderWork, reader: MakerReader): Promise<void> {
  const { settings, sweep, signal, nowMs, wait } = work;
  const retry = work.retryFor('sweep');
  const read = (choose: () => Touched) => retry(() => work.mutex.run(() => readAndPublish(choose(), work, reader)));
  let makers: readonly WatchedMaker[] = [];
  let from = 0;
  let startedAtMs = nowMs();
  let unreadableDueBlock = 0;
  while (!signal.aborted) {
    await wait(PAUSE_MS);
    const { phase, processed } = work.position;
    if (phase !== 'FOLLOWING' || processed === undefined || signal.aborted) continue;
    if (processed.number >= unreadableDueBlock && reader.state.suspects().size > 0) {
      if (await read(() => unreadablePairs(work, reader))) unreadableDueBlock = processed.number + UNREADABLE_BLOCKS;
    }
    if (settings.SWEEP_PAIRS_PER_SECOND === 0) continue;
    if (from === 0) makers = [...work.watched.makers()];
    const touched = new Touched(work.watched);
    const next = takeMakers(makers, from, settings.SWEEP_PAIRS_PER_SECOND, (maker) => {
      touched.whole(maker, CAUSE, false);
      return maker.pairs.size + maker.walletOrders.size;
    });
    if (touched.makers.size > 0 && !(await read(() => touched))) continue;
    from = next;
    if (from < makers.length) continue;
    from = 0;
    sweep.endedAtMs = nowMs();
    sweep.tookMs = sweep.endedAtMs - startedAtMs;
    startedAtMs = sweep.endedAtMs;
  }
}

/** False where it is to be done later: what else changed by the block to be read at is not in the log yet. */
async function readAndPublish(touched: Touched, work: HolderWork, reader: MakerReader): Promise<boolean> {
  const { position, readingBlocks, publisher, sweep } = work;
  const { matched, processed } = position;
  if (matched === undefined || processed?.number !== matched.number) return false;
  const at = await readingBlocks.choose(matched);
  if (at.number > matched.number) return false;
  const observed = await readMakers(reader, touched.makers.values(), at);
  const news = await onlyNews(observed, work);
  await publisher.publish(news);
  for (const { tokens } of touched.makers.values()) sweep.pairs += tokens.size;
  sweep.facts += news.length;
  return true;
}

/** Pairs with a value that could not be read when it was last asked: those that have waited longest. */
function unreadablePairs({ watched }: HolderWork, { state }: MakerReader): Touched {
  const touched = new Touched(watched);
  const pairs = new Set<WatchedPair>();
  for (const call of state.suspects().values()) {
    const maker = accountIn(call);
    const pair = maker === undefined ? undefined : watched.findPair(call.to, maker);
    if (pair === undefined) continue;
    touched.pair(pair, CAUSE);
    if (pairs.add(pair).size === UNREADABLE_PAIRS_MAX) break;
  }
  return touched;
}

const CAUSE: Cause = { kind: 'read', occasion: 'SWEEP' };
const PAUSE_MS = 1000;
/** How many blocks later, and how many at a time. */
const UNREADABLE_BLOCKS = 10;
const UNREADABLE_PAIRS_MAX = 20;
