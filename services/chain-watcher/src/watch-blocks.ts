import { type BlockHeader, ChainContradiction, type Node, RpcUnavailable, readBlock } from '@makerbook/chain';
import type { BlockRef } from '@makerbook/contracts-events';
import type { BlockSource, SourceBlock } from './block-source.js';
import { type CatchUpProgress, catchUpAtHead } from './catch-up.js';
import type { FollowedLog } from './follow-log.js';
import type { WatchedSet } from './keep-watched-set.js';
import { matchLogs } from './match-logs.js';
import type { FactPublisher } from './publish-facts.js';
import { blockRefOf, type FactReader, readFacts } from './read-facts.js';
import type { NewOrderReader } from './read-new-orders.js';

/** Where the watcher stands; read by metrics and readiness, written by the loop. */
export interface WatcherState {
  phase: 'READING_LOG' | 'CATCHING_UP' | 'FOLLOWING';
  /** The newest block whose logs were matched with the watched set. */
  matched: BlockHeader | undefined;
  /** The newest block that is published to every partition. */
  processed: BlockRef | undefined;
  catchUp: CatchUpProgress | undefined;
  /** Of the last block: from the moment it was seen to the acknowledgement of its facts. */
  lastBlockMs: number | undefined;
}

export interface WatchOptions {
  readonly node: Node;
  readonly source: BlockSource;
  readonly watched: WatchedSet;
  readonly log: FollowedLog;
  readonly publisher: FactPublisher;
  /** Undefined where the protocol's address is not known: then nothing is read, and blocks alone are published. */
  readonly reader: FactReader | undefined;
  readonly orders: NewOrderReader | undefined;
  readonly partitions: number;
  readonly state: WatcherState;
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
  readonly retry: <T>(work: () => Promise<T>) => Promise<T>;
  readonly onBlock: (block: BlockRef, facts: number) => void;
  /** After each chunk of pairs. */
  readonly onCatchUp: (progress: CatchUpProgress, head: BlockRef) => void;
  /** A gap of more blocks is caught up by reading all pairs at the head, where that is cheaper. */
  readonly catchUpBlocksMax: number;
  /** Blocks further than this behind the head are read at the head: nodes forget older state. */
  readonly stateBlocksMax: number;
}

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
    state.matched = oldest;
    // Orders that came before are read now, not only when the next block comes.
    void options.orders?.settled(signal);
  }

  while (!signal.aborted) {
    const before = matchedOf(state);
    const block = await retry(() => source.next(before.number + 1));
    if (block === undefined) {
      state.phase = 'FOLLOWING';
      await source.waitForMore();
      continue;
    }
    const gap = (source.headNumber() ?? block.header.number) - before.number;
    if (gap > options.catchUpBlocksMax) {
      state.phase = 'CATCHING_UP';
      if (isRereadCheaper(gap, options.watched)) {
        await catchUpAtHead(options, before);
        continue;
      }
    }
    assertFollows(block.header, before);
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
  return published.length < partitions ? undefined : readPublished(node, oldest);
}

/** The chain's own header of a block that the log holds. Throws ChainContradiction when the chain has another one. */
export async function readPublished(node: Node, published: BlockRef): Promise<BlockHeader> {
  const header = await readBlock(node, published.number);
  if (header === undefined) {
    throw new RpcUnavailable(`the node does not have block ${published.number} yet, which was published before`);
  }
  if (header.hash !== published.hash) {
    throw new ChainContradiction(
      `block ${published.number} is ${header.hash} on the chain, but ${published.hash} was published: another chain, or a reorganisation of final blocks. Nothing more is published.`,
    );
  }
  return header;
}

async function processBlock({ header, logs }: SourceBlock, options: WatchOptions): Promise<void> {
  const { watched, log, publisher, reader, orders, state, signal, nowMs, retry } = options;
  const seenAtMs = nowMs();
  // Every order before the last block in the log is in the watched set, and read, before this block is published.
  await log.reached(matchedOf(state).number, signal);
  if (signal.aborted) return;
  // No await between these two: what joins the watched set later is read at this block or a later one.
  const touched = reader === undefined ? undefined : matchLogs(logs, watched, reader.protocol);
  state.matched = header;
  const settled = orders?.settled(signal);

  const facts =
    reader === undefined || touched === undefined
      ? []
      : await retry(async () => readFacts(reader, touched, await stateBlock(header, options)));
  await settled;
  if (signal.aborted) return;
  const block = blockRefOf(header);
  await retry(() => publisher.publishBlock(facts, block, (partition) => isPublished(partition, block, watched)));
  state.processed = block;
  state.lastBlockMs = nowMs() - seenAtMs;
  options.onBlock(block, facts.length);
}

/** The block itself, or the node's newest one where it is too far back: facts say at which block they were read. */
async function stateBlock(header: BlockHeader, { source, node, stateBlocksMax }: WatchOptions): Promise<BlockHeader> {
  if ((source.headNumber() ?? header.number) - header.number <= stateBlocksMax) return header;
  const newest = await readBlock(node, 'latest');
  return newest === undefined || newest.number < header.number ? header : newest;
}

/** Whether a partition holds the block already: from before a crash, or from another watcher. */
export function isPublished(partition: number, block: BlockRef, watched: WatchedSet): boolean {
  const last = watched.lastBlock(partition);
  if (last?.number === block.number && last.hash !== block.hash) {
    throw new ChainContradiction(
      `partition ${partition} of the log holds block ${block.number} as ${last.hash}, the chain as ${block.hash}`,
    );
  }
  return last !== undefined && last.number >= block.number;
}

function assertFollows(header: BlockHeader, before: BlockHeader): void {
  if (header.parentHash === before.hash && header.number === before.number + 1) return;
  throw new ChainContradiction(
    `block ${header.number} (${header.hash}) has the parent ${header.parentHash}, but block ${before.number} is ${before.hash}: a reorganisation of final blocks. Nothing of it was published.`,
  );
}

/** In calls: two for each block that is followed, and about three for each pair that is read, a hundred in one. */
function isRereadCheaper(gap: number, watched: WatchedSet): boolean {
  return watched.sizes().pairs * 3 < gap * 2 * 100;
}

function matchedOf({ matched }: WatcherState): BlockHeader {
  if (matched === undefined) throw new Error('no block is known yet');
  return matched;
}
