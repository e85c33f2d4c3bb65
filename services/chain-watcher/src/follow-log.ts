import { ChainContradiction } from '@makerbook/chain';
import {
  type BlockProcessed,
  type BlockRef,
  ceType,
  decodeMakerEvent,
  misplacement,
  type TopicNames,
} from '@makerbook/contracts-events';
import {
  type Following,
  type Log,
  type Logger,
  partitionOf,
  RecordsDeleted,
  type StoredRecord,
} from '@makerbook/kafka';
import type { SeededOrder, WatchedSet } from './keep-watched-set.js';
import { type PartitionStart, readBook } from './read-book.js';

/** An order that is to be read, by its slot in the watched set: the log has just opened it, or says what came too late. */
export interface OpenedOrder {
  readonly order: number;
  /** Of the request that submitted it, as the fact carries it on. */
  readonly traceparent: string | undefined;
}

/** The log of facts, read into the watched set: the open orders from the book, and the facts that the book has not seen. */
export interface FollowedLog {
  /** Resolves when everything that was in the log at the start is in the watched set, and `onCaughtUp` was called. */
  readonly caughtUp: Promise<void>;
  /** Resolves once every partition is seen to hold `BlockProcessed` of this block or a later one; or on abort. */
  reached(blockNumber: number, signal: AbortSignal): Promise<void>;
  /** Partitions that `reached` waits for now. */
  awaited(): readonly number[];
  /** Records read so far, and those that could not be read. */
  counts(): { readonly records: number; readonly unreadable: number };
  lastPollAtMs(): number;
  stop(): Promise<void>;
}

export interface FollowLogOptions {
  readonly log: Log;
  readonly topics: TopicNames;
  readonly partitions: number;
  readonly watched: WatchedSet;
  readonly logger: Logger;
  /** Called once, when everything that was in the log at the start is in the watched set. */
  readonly onCaughtUp: () => void;
  /** Called for orders that the log opens after `onCaughtUp`. */
  readonly onOpened: (opened: readonly OpenedOrder[]) => void;
  /** The log cannot be followed any more, or speaks of another chain than itself. */
  readonly onFatal: (error: Error) => void;
}

export function followLog(options: FollowLogOptions): FollowedLog {
  const { log, topics, partitions, watched, logger, onCaughtUp, onOpened, onFatal } = options;
  const topic = topics.makerEvents;
  let records = 0;
  let unreadable = 0;
  let isCaughtUp = false;
  let isStopped = false;
  let starts: readonly PartitionStart[] = [];
  let following: Following | undefined;
  const waiters = new Set<{ readonly blockNumber: number; readonly resolve: () => void }>();

  const holds = (partition: number, blockNumber: number) => (watched.lastBlock(partition)?.number ?? -1) >= blockNumber;
  const isReached = (blockNumber: number) => {
    for (let partition = 0; partition < partitions; partition += 1) if (!holds(partition, blockNumber)) return false;
    return true;
  };

  const onRecords = (partition: number, batch: readonly StoredRecord[]) => {
    const opened: OpenedOrder[] = [];
    let hasBlocks = false;
    const openSince = starts[partition]?.openSince;
    for (const record of batch) {
      records += 1;
      const fact = readFact(record, partitions);
      seedThose(openSince?.get(record.offset), record, fact, watched);
      if ('unreadable' in fact) {
        // The projector parks it; nothing that is watched can follow from it.
        unreadable += 1;
        logger.warn({ topic, partition, offset: String(record.offset), reason: fact.unreadable }, 'unreadable fact');
        continue;
      }
      if (fact.type === 'BlockProcessed') {
        hasBlocks = true;
        assertSameChain(watched.lastBlock(partition), fact.block, partition);
      }
      const order = watched.apply(partition, fact, record.offset);
      if (order >= 0 && isCaughtUp) opened.push({ order, traceparent: record.headers['traceparent'] });
    }
    if (opened.length > 0) onOpened(opened);
    if (!hasBlocks) return;
    for (const waiter of waiters) if (isReached(waiter.blockNumber)) waiter.resolve();
  };

  const onLogFatal = (error: Error) =>
    onFatal(error instanceof RecordsDeleted ? new LogContradiction(error.message, { cause: error }) : error);

  const reading = readBook({ log, topics, partitions, logger });
  const begin = async () => {
    const read = await reading.done;
    if (read === undefined || isStopped) return;
    starts = read;
    let orders = 0;
    starts.forEach(({ from, open }, partition) => {
      if (from > 0n) watched.noteUnknownRemovals();
      watched.startAt(partition, from);
      for (const { order, offset, isJudged } of open) watched.seed(partition, order, offset, isJudged);
      orders += open.length;
    });
    logger.info({ orders, partitions: starts.filter(({ from }) => from > 0n).length }, 'the book is read');
    const from = starts.map((start) => start.from);
    following = log.followTopic({ topic, from, isGapless: true, onRecords, onFatal: onLogFatal });
    await following.caughtUp;
    await assertSameLog(log, topic, starts);
    starts = [];
    isCaughtUp = true;
    onCaughtUp();
  };
  return {
    caughtUp: begin().catch((error: Error) => {
      onFatal(error);
      return new Promise<void>(() => undefined);
    }),
    reached: async (blockNumber, signal) => {
      if (isReached(blockNumber) || signal.aborted) return;
      await new Promise<void>((done) => {
        const resolve = () => {
          waiters.delete(waiter);
          signal.removeEventListener('abort', resolve);
          done();
        };
        const waiter = { blockNumber, resolve };
        waiters.add(waiter);
        signal.addEventListener('abort', resolve, { once: true });
      });
    },
    awaited: () =>
      Array.from({ length: partitions }, (_, partition) => partition).filter((partition) =>
        [...waiters].some(({ blockNumber }) => !holds(partition, blockNumber)),
      ),
    counts: () => ({ records, unreadable }),
    lastPollAtMs: () => (following ?? reading).lastPollAtMs(),
    stop: async () => {
      isStopped = true;
      await reading.stop();
      await following?.stop();
    },
  };
}

/** Orders of the book that are known to be open by this fact; but where the fact itself opens the order, it does so. */
function seedThose(
  orders: readonly SeededOrder[] | undefined,
  { partition, offset }: StoredRecord,
  fact: ReturnType<typeof readFact>,
  watched: WatchedSet,
): void {
  for (const order of orders ?? []) {
    const isItsOwn = 'type' in fact && fact.type === 'OrderSubmitted' && fact.orderHash === order.orderHash;
    if (!isItsOwn) watched.seed(partition, order, offset, false);
  }
}

/** The topics do not belong together. No retry helps: a person has to look. */
export class LogContradiction extends Error {
  override readonly name = 'LogContradiction';
}

async function assertSameLog(log: Log, topic: string, starts: readonly PartitionStart[]): Promise<void> {
  const ends = await log.endOffsets(topic, { timeoutMs: 5_000 });
  const partition = starts.findIndex(({ from }, at) => from > (ends[at] ?? 0n));
  if (partition < 0) return;
  throw new LogContradiction(
    `the book was made from offset ${starts[partition]?.from} of partition ${partition} of ${topic}, which ends at ${ends[partition]}: it belongs to another log`,
  );
}

/** A fact where it means something. */
function readFact(record: StoredRecord, partitions: number): ReturnType<typeof decodeFact> {
  const fact = decodeFact(record);
  if ('unreadable' in fact) return fact;
  const misplaced = misplacement(fact, record.partition, (maker) => partitionOf(maker, partitions));
  return misplaced === undefined ? fact : { unreadable: misplaced };
}

/** Two watchers that follow different chains must not both go on. */
function assertSameChain(known: BlockRef | undefined, seen: BlockRef, partition: number): void {
  if (known === undefined || known.number !== seen.number || known.hash === seen.hash) return;
  throw new ChainContradiction(
    `partition ${partition} of the log holds two blocks ${seen.number}: ${known.hash} and ${seen.hash}`,
  );
}

const BLOCK_PROCESSED = ceType('BlockProcessed');

/** Most of the log are blocks: they are read without the schema, which costs ten times as much. */
function decodeFact(record: StoredRecord): ReturnType<typeof decodeMakerEvent> {
  if (record.headers['ce_type'] === BLOCK_PROCESSED && record.value !== null) {
    try {
      const { block, knownOffset } = JSON.parse(record.value.toString('latin1')) as Partial<BlockProcessed>;
      const { number, hash, timestamp }: Partial<BlockRef> = block ?? {};
      const isWhole = Number.isSafeInteger(number) && Number.isSafeInteger(timestamp) && typeof hash === 'string';
      if (isWhole && /^\d+$/.test(knownOffset ?? '0')) {
        return { type: 'BlockProcessed', block: { number, hash, timestamp } as BlockRef, knownOffset };
      }
    } catch {
      // Left to the schema, which says what is wrong.
    }
  }
  return decodeMakerEvent(record);
}
