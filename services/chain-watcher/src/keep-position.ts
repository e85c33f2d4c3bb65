import { type BlockHeader, ChainContradiction, type Node, RpcUnavailable, readBlockAndNewest } from '@makerbook/chain';
import type { BlockRef, MakerFact } from '@makerbook/contracts-events';
import type { BlockSource } from './block-source.js';
import type { FollowedLog } from './follow-log.js';
import { isNews } from './is-news.js';
import type { ReadPoint } from './keep-read-point.js';
import type { WatchedSet } from './keep-watched-set.js';
import type { FactPublisher } from './publish-facts.js';
import type { FactReader } from './read-facts.js';
import type { NewOrderReader } from './read-new-orders.js';
import type { Turns } from './take-turns.js';

/** Where the watcher stands; read by metrics and readiness, written by the loop. */
export interface WatcherState {
  phase: 'READING_LOG' | 'CATCHING_UP' | 'FOLLOWING';
  /** The newest block whose logs were matched with the watched set. Set by `noteMatched` alone. */
  matched: BlockHeader | undefined;
  /** The newest block that is published to every partition. */
  processed: BlockRef | undefined;
  catchUp: CatchUpProgress | undefined;
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
  readonly readPoint: ReadPoint;
  /** Whoever reads and publishes takes a turn, so that no reading of one block mixes with those of another. */
  readonly turns: Turns;
  readonly state: WatcherState;
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
  readonly retry: <T>(work: () => Promise<T>) => Promise<T>;
  /** @param tookMs from the moment the block was seen to the acknowledgement of its facts; undefined after a catch-up */
  readonly onBlock: (block: BlockRef, facts: number, tookMs: number | undefined) => void;
  /** Before each request for missed logs, and after each chunk of makers. */
  readonly onCatchUp: (progress: CatchUpProgress) => void;
  /** A gap of more blocks is caught up by reading all pairs at the head, where that is cheaper. */
  readonly catchUpBlocksMax: number;
}

/**
 * How far a step of catching up has come: missed blocks whose logs are read, and then the watched makers; or, where that
 * would cost more, missed blocks that are followed one by one.
 */
export interface CatchUpProgress {
  readonly step: 'blocks' | 'makers' | 'followed';
  readonly done: number;
  readonly total: number;
}

/** Tells how far catching up has come. */
export function say(progress: CatchUpProgress, { state, onCatchUp }: WatchOptions): void {
  state.catchUp = progress;
  onCatchUp(progress);
}

/** From now on what joins the watched set has missed the block's logs, and is read at `at`, which is not older. */
export function noteMatched(block: BlockHeader, at: BlockHeader, options: WatchOptions): void {
  const { state, watched, readPoint } = options;
  state.matched = block;
  readPoint.moveTo(at);
  watched.noteMatched(block.number);
  readAgain(options);
}

/** Has those orders read whose reading came too late in the log, or was lost with another watcher. */
export function readAgain({ watched, orders }: WatchOptions): void {
  orders?.addAgain([...watched.takeOverdue(), ...watched.takeUnjudged()]);
}

/** Publishes the block where it is not published yet, and elsewhere the facts that are not known there. */
export async function publishBlock(
  facts: readonly MakerFact[],
  block: BlockRef,
  { publisher, watched }: WatchOptions,
): Promise<void> {
  await publisher.publishBlock(
    facts,
    block,
    (partition) => watched.matchedOffset(partition),
    (partition) => isPublished(partition, block, watched),
    (fact) => isNews(fact, watched),
  );
}

/** Whether a partition holds the block already: from before a crash, or from another watcher. */
function isPublished(partition: number, block: BlockRef, watched: WatchedSet): boolean {
  const last = watched.lastBlock(partition);
  if (last?.number === block.number && last.hash !== block.hash) {
    throw new ChainContradiction(
      `partition ${partition} of the log holds block ${block.number} as ${last.hash}, the chain as ${block.hash}`,
    );
  }
  return last !== undefined && last.number >= block.number;
}

/** A node that lacks a published block is asked last for so long. */
const PASSED_OVER_MS = 5000;

/**
 * The chain's own header of a block that the log holds, and the newest block of the same node, so that both are of one
 * chain. Throws ChainContradiction when the chain has another block of that number.
 */
export async function readPublished(
  node: Node,
  { number, hash }: Pick<BlockRef, 'number' | 'hash'>,
): Promise<{ readonly header: BlockHeader; readonly newest: BlockHeader }> {
  const { block: header, newest, endpoint } = await readBlockAndNewest(node, number);
  if (header === undefined) {
    // Another one has it perhaps: nothing else compares them before the first block comes.
    node.passOver(endpoint, PASSED_OVER_MS);
    throw new RpcUnavailable(`${endpoint} does not have block ${number} yet, which was published before`);
  }
  if (header.hash !== hash) {
    throw new ChainContradiction(
      `block ${number} is ${header.hash} on the chain of ${endpoint}, but ${hash} was published: another chain, or a reorganisation of final blocks. Nothing more is published.`,
    );
  }
  return { header, newest };
}
