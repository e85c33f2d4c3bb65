import {
  type BlockHeader,
  ChainContradiction,
  type ChainLog,
  RpcRefused,
  RpcUnavailable,
  readBlock,
  readLogsOfRange,
} from '@makerbook/chain';
import { partitionOf } from '@makerbook/kafka';
import { inSpan } from '@makerbook/telemetry';
import type { SourceBlock } from '../blocks/source.js';
import type { Observed } from '../publish/publish-observed.js';
import { causeOf, matchLogs, type Touched } from '../watch/match-logs.js';
import type { WatchedMaker } from '../watch/watched-maker.js';
import {
  CATCH_UP,
  type CatchUpWork,
  catchUpAtHead,
  publishHead,
  publishMissedFills,
  reportProgress,
} from './catch-up.js';
import { readKnown } from './choose-block.js';
import type { Holder } from './holder.js';
import { withoutPutOff } from './only-news.js';
import { blockRefOf, readMakers } from './read-makers.js';

type BlockWork = Omit<CatchUpWork, 'wait' | 'onCatchUp'>;

/**
 * Publishes every block, from the last one that all partitions have, until the signal is aborted.
 * @throws ChainContradiction if the chain is not the log's: a block's parent is not the block before it. Nothing of
 * such a block is published.
 */
export async function watchBlocks(work: CatchUpWork & Holder<'source' | 'settings'>): Promise<void> {
  const { source, signal, position, settings, followed } = work;
  const retry = work.retryFor('blocks');
  position.matched = (await retry(() => resume(work))) ?? (await startAtHead(work));
  /** In the first turn it is unknown which fills an earlier holder has missed. */
  let isFirst = true;
  /** The block from which a long gap is followed block by block. */
  let followedFrom: number | undefined;
  while (!signal.aborted) {
    const before: BlockHeader = position.matched;
    const block = await retry(() => source.next(before.number + 1));
    if (signal.aborted) return;
    // Publish these before the block, because its fills are newer.
    const missed = followed.takeMissed();
    await publishMissedFills(isFirst ? { from: 0, makers: undefined } : missed, before, work);
    isFirst = false;
    if (signal.aborted) return;
    if (block === undefined) {
      Object.assign(position, { phase: 'FOLLOWING', catchUp: undefined });
      followedFrom = undefined;
      continue;
    }
    const gap = (source.headNumber() ?? block.header.number) - before.number;
    if (gap > settings.CATCH_UP_BLOCKS_MAX) {
      position.phase = 'CATCHING_UP';
      // Compare costs: two calls for each followed block, or about three reads for each pair, a hundred of them in one
      // call.
      if (work.watched.sizes().pairs * 3 < gap * 2 * 100) {
        followedFrom = undefined;
        position.matched = (await catchUpAtHead(work, before)) ?? before;
        continue;
      }
      followedFrom ??= before.number;
    }
    if (followedFrom !== undefined) {
      const done = before.number - followedFrom;
      reportProgress(work, { step: 'followed', done, total: done + gap });
    }
    assertFollows(block, before);
    await processBlock(block, work);
  }
}

/**
 * The block to continue from: the oldest among the partitions' newest blocks. Undefined if no partition has a block.
 */
async function resume(work: Holder<'followed' | 'node' | 'position'>): Promise<BlockHeader | undefined> {
  const oldest = work.followed.oldestBlock();
  const newest = work.followed.newestBlock();
  if (oldest === undefined || newest === undefined) return undefined;
  await readKnown(work.node, newest);
  const header = (await readKnown(work.node, oldest)).block;
  work.position.processed = blockRefOf(header);
  return header;
}

/**
 * Publishes the very first block of the log. No order was read before it, so all are read as new orders. A retry
 * publishes the same block, because the log may have it already.
 */
async function startAtHead(
  work: Holder<'node' | 'retryFor' | 'publisher' | 'partitions' | 'position' | 'onBlock'>,
): Promise<BlockHeader> {
  const retry = work.retryFor('blocks');
  const head = await retry(async () => {
    const newest = await readBlock(work.node, 'latest');
    if (newest === undefined) throw new RpcUnavailable('the node has no newest block');
    return newest;
  });
  await retry(() => publishHead(head, work));
  return head;
}

/** Works in a new trace, which continues in the block's facts and in their consequences. */
function processBlock(block: SourceBlock, work: BlockWork): Promise<void> {
  const { number, hash } = block.header;
  const attributes = { 'makerbook.block': number, 'makerbook.block_hash': hash };
  return inSpan('process block', { root: true, attributes }, () => publishBlock(block, work));
}

async function publishBlock({ header, logs, logsBloom }: SourceBlock, work: BlockWork): Promise<void> {
  const { reader, watched, mutex, position, signal, monotonicMs } = work;
  const retry = work.retryFor('blocks');
  const seenAtMs = monotonicMs();
  const block = blockRefOf(header);
  const times = new Map([[header.number, header.timestamp]]);
  await mutex.run(async () => {
    if (signal.aborted) return;
    // Do not await here, so that an order that is new in the log from here on is read at this block or a later one.
    const touched = reader === undefined ? undefined : matchLogs(logs, { watched, protocol: reader.protocol, times });
    if (touched !== undefined) touchUnprocessed(touched, header, work);
    // If a wallet has not answered yet, its order is read with the answer. Until then the order is not ACTIVE.
    for (const wallet of touched?.unanswered ?? []) touched?.signatures(wallet, CATCH_UP, header.number, monotonicMs());
    const wallets = watched.wallets.withLogsIn(logsBloom);
    position.matched = header;
    const facts = await retry(async () => {
      const lacking = partitionsWithout(header, work);
      if (touched !== undefined) await touchWallets(touched, wallets, header, work);
      const observed = touched === undefined ? [] : await readTouched(touched, header, lacking, work);
      await work.publisher.publishBlock(observed, block, lacking);
      return observed.length;
    });
    position.processed = block;
    work.onBlock(block, facts, monotonicMs() - seenAtMs);
  });
}

/**
 * A wallet with a log in the block may now judge its signatures differently, such as after a change of owners. The
 * block does not wait for its answers. If the node refuses the logs because they are too many, each of the wallets
 * counts as having one.
 */
async function touchWallets(
  touched: Touched,
  wallets: readonly WatchedMaker[],
  { number }: BlockHeader,
  { node, monotonicMs }: Holder<'node' | 'monotonicMs'>,
): Promise<void> {
  if (wallets.length === 0) return;
  const firstLogs = new Map<string, ChainLog>();
  let isKnown = true;
  try {
    const filter = { address: wallets.map(({ address }) => address) };
    for (const log of (await readLogsOfRange(node, number, number, filter)).toReversed())
      firstLogs.set(log.address, log);
  } catch (error) {
    if (!(error instanceof RpcRefused)) throw error;
    isKnown = false;
  }
  for (const wallet of wallets) {
    const log = firstLogs.get(wallet.address);
    if (log !== undefined) touched.signatures(wallet, causeOf(log), number, monotonicMs());
    else if (!isKnown) touched.signatures(wallet, CATCH_UP, number, monotonicMs());
  }
}

/** Reads the touched values at exactly this block, or the makers in full at a newer one. */
async function readTouched(
  touched: Touched,
  header: BlockHeader,
  lacking: readonly number[],
  work: Holder<'reader' | 'readingBlocks' | 'watched' | 'followed' | 'publisher' | 'partitions' | 'monotonicMs'>,
): Promise<readonly Observed[]> {
  const { reader, readingBlocks, partitions, monotonicMs } = work;
  if (reader === undefined || touched.makers.size === 0) return [];
  const at = await readingBlocks.choose(header);
  if (at.number > header.number) touched.widen(at.number, monotonicMs());
  const makers = [...touched.makers.values()].filter(({ maker }) => lacking.includes(partitionOf(maker, partitions)));
  return withoutPutOff(await readMakers(reader, makers, at), work);
}

/** Partitions that lack the block. After a crash between appends, some have it. */
function partitionsWithout({ number, hash }: BlockHeader, { followed }: Holder<'followed'>): number[] {
  const lacking: number[] = [];
  for (const [partition, { block }] of followed.partitions.entries()) {
    if (block?.number === number && block.hash !== undefined && block.hash !== hash) {
      throw new ChainContradiction(
        `partition ${partition} of the log holds block ${number} as ${block.hash}, but the chain has ${hash}`,
      );
    }
    if (block === undefined || block.number < number) lacking.push(partition);
  }
  return lacking;
}

/**
 * A partition that has no block yet may have readings of blocks that are no longer known. Has all of its makers read
 * with its first block.
 */
function touchUnprocessed(
  touched: Touched,
  { number }: BlockHeader,
  { watched, followed, partitions, monotonicMs }: Holder<'watched' | 'followed' | 'partitions' | 'monotonicMs'>,
): void {
  if (followed.partitions.every(({ block }) => block !== undefined)) return;
  for (const maker of watched.makers()) {
    const partition = partitionOf(maker.address, partitions);
    if (followed.partitions[partition]?.block !== undefined) continue;
    touched.signatures(maker, CATCH_UP, number, monotonicMs());
    touched.whole(maker, CATCH_UP, true);
  }
}

function assertFollows({ header, endpoint }: SourceBlock, before: BlockHeader): void {
  if (header.parentHash === before.hash && header.number === before.number + 1) return;
  throw new ChainContradiction(
    `block ${header.number} (${header.hash}, by ${endpoint ?? 'the topic'}) has the parent ${header.parentHash}, but block ${before.number} is ${before.hash}: a reorganisation of final blocks. Nothing of it was published.`,
  );
}
