import { type BlockHeader, ChainContradiction } from '@makerbook/chain';
import type { BlockRef } from '@makerbook/contracts-events';
import type { SourceBlock } from './block-source.js';
import { catchUpAtHead, publishOutdated } from './catch-up.js';
import {
  noteMatched,
  publishBlock,
  readAgain,
  readPublished,
  say,
  type WatcherState,
  type WatchOptions,
} from './keep-position.js';
import type { WatchedSet } from './keep-watched-set.js';
import { matchLogs } from './match-logs.js';
import { blockRefOf } from './read-facts.js';
import { readTouched } from './read-whole.js';

/**
 * Publishes every block, from the last one that the log holds, until the signal is aborted. Throws ChainContradiction
 * when the chain is not the one of the log: a block's parent is another block than the one before it. Nothing of such a
 * block is published.
 */
export async function watchBlocks(options: WatchOptions): Promise<void> {
  const { source, signal, state, retry } = options;
  const oldest = await retry(() => resume(options));
  if (signal.aborted) return;
  if (oldest === undefined) await catchUpAtHead(options, undefined);
  else {
    const at = await retry(() => options.readPoint.choose(oldest, undefined));
    if (signal.aborted) return;
    state.processed = blockRefOf(oldest);
    noteMatched(oldest, at, options);
  }

  /** The block from which a long gap is followed block by block. */
  let missedFrom: number | undefined;
  while (!signal.aborted) {
    const before = matchedOf(state);
    const block = await retry(() => source.next(before.number + 1));
    if (block === undefined) {
      state.phase = 'FOLLOWING';
      state.catchUp = undefined;
      missedFrom = undefined;
      readAgain(options);
      if (options.reader !== undefined) await publishOutdated(before, options.reader, options);
      await source.waitForMore();
      continue;
    }
    const gap = (source.headNumber() ?? block.header.number) - before.number;
    if (gap > options.catchUpBlocksMax) {
      state.phase = 'CATCHING_UP';
      if (isRereadCheaper(gap, options.watched)) {
        missedFrom = undefined;
        await catchUpAtHead(options, before);
        continue;
      }
      missedFrom ??= before.number;
    }
    if (missedFrom !== undefined) {
      const done = before.number - missedFrom;
      say({ step: 'followed', done, total: done + gap }, options);
    }
    assertFollows(block, before);
    await processBlock(block, options);
  }
}

/** The block to go on from: the oldest of the newest ones of each partition. Undefined when a partition has none. */
async function resume({ watched, partitions, node }: WatchOptions): Promise<BlockHeader | undefined> {
  const published: BlockRef[] = [];
  for (let partition = 0; partition < partitions; partition += 1) {
    const last = watched.lastBlock(partition);
    if (last !== undefined) published.push(last);
  }
  published.sort((a, b) => a.number - b.number);
  const [oldest] = published;
  const newest = published.at(-1);
  if (oldest === undefined || newest === undefined) return undefined;
  await readPublished(node, newest);
  return published.length < partitions ? undefined : (await readPublished(node, oldest)).header;
}

async function processBlock({ header, logs }: SourceBlock, options: WatchOptions): Promise<void> {
  const { watched, log, reader, readPoint, turns, state, signal, nowMs, retry } = options;
  const seenAtMs = nowMs();
  // Whoever published the last block knew no more of the log than this: every order before it is in the watched set.
  await log.reached(matchedOf(state).number, signal);
  if (signal.aborted) return;
  const at = await retry(() => readPoint.choose(header, options.source.headNumber()));
  if (signal.aborted) return;
  await turns.take(async () => {
    // No await between these: what joins the watched set later is read at this block or a later one.
    const joined = header.number % JOINED_BLOCKS === 0 ? watched.takeJoined(header.number, JOINED_PAIRS_MAX) : [];
    joined.push(...watched.takeOutdated(JOINED_PAIRS_MAX));
    const touched = reader === undefined ? undefined : matchLogs(logs, watched, reader.protocol, joined);
    noteMatched(header, at, options);

    const facts =
      reader === undefined || touched === undefined
        ? []
        : await retry(async () => readTouched(reader, watched, touched, await readPoint.at(), header.number));
    if (signal.aborted) return;
    const block = blockRefOf(header);
    await retry(() => publishBlock(facts, block, options));
    state.processed = block;
    options.onBlock(block, facts.length, nowMs() - seenAtMs);
  });
}

function assertFollows({ header, endpoint }: SourceBlock, before: BlockHeader): void {
  if (header.parentHash === before.hash && header.number === before.number + 1) return;
  throw new ChainContradiction(
    `block ${header.number} (${header.hash}, by ${endpoint ?? 'the topic'}) has the parent ${header.parentHash}, but block ${before.number} is ${before.hash}: a reorganisation of final blocks. Nothing of it was published.`,
  );
}

/** In calls: two for each block that is followed, and about three for each pair that is read, a hundred in one. */
function isRereadCheaper(gap: number, watched: WatchedSet): boolean {
  return watched.sizes().pairs * 3 < gap * 2 * 100;
}

/** Joined pairs are read with every so many blocks, at most so many; what is left over comes the next time. */
const JOINED_BLOCKS = 10;
const JOINED_PAIRS_MAX = 500;

function matchedOf({ matched }: WatcherState): BlockHeader {
  if (matched === undefined) throw new Error('no block is known yet');
  return matched;
}
