import { ChainContradiction } from '@makerbook/chain';
import { type BlockRef, ceType, decodeMakerEvent } from '@makerbook/contracts-events';
import type { Following, Log, Logger, StoredRecord } from '@makerbook/kafka';
import type { WatchedSet } from './keep-watched-set.js';

/** An order that the log has just opened, by its slot in the watched set. */
export interface OpenedOrder {
  readonly order: number;
  /** Of the request that submitted it. */
  readonly traceparent: string | undefined;
}

/** The log of facts, read from its beginning into the watched set. */
export interface FollowedLog {
  /** Resolves when everything that was in the log at the start is in the watched set, and `onCaughtUp` was called. */
  readonly caughtUp: Promise<void>;
  /** Resolves once every partition is seen to hold `BlockProcessed` of this block or a later one; or on abort. */
  reached(blockNumber: number, signal: AbortSignal): Promise<void>;
  /** Records read so far, and those that could not be read. */
  counts(): { readonly records: number; readonly unreadable: number };
  lastPollAtMs(): number;
  stop(): Promise<void>;
}

export interface FollowLogOptions {
  readonly log: Log;
  readonly topic: string;
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
  const { log, topic, partitions, watched, logger, onCaughtUp, onOpened, onFatal } = options;
  let records = 0;
  let unreadable = 0;
  let isCaughtUp = false;
  const waiters = new Set<{ readonly blockNumber: number; readonly resolve: () => void }>();

  const isReached = (blockNumber: number) => {
    for (let partition = 0; partition < partitions; partition += 1) {
      if ((watched.lastBlock(partition)?.number ?? -1) < blockNumber) return false;
    }
    return true;
  };

  const onRecords = (partition: number, batch: readonly StoredRecord[]) => {
    const opened: OpenedOrder[] = [];
    let hasBlocks = false;
    for (const record of batch) {
      records += 1;
      const fact = decodeFact(record);
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
      const order = watched.apply(partition, fact);
      if (order >= 0 && isCaughtUp) opened.push({ order, traceparent: record.headers['traceparent'] });
    }
    if (opened.length > 0) onOpened(opened);
    if (!hasBlocks) return;
    for (const waiter of waiters) if (isReached(waiter.blockNumber)) waiter.resolve();
  };

  const following: Following = log.followTopic({ topic, from: 'beginning', onRecords, onFatal });
  return {
    caughtUp: following.caughtUp.then(() => {
      isCaughtUp = true;
      onCaughtUp();
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
    counts: () => ({ records, unreadable }),
    lastPollAtMs: () => following.lastPollAtMs(),
    stop: () => following.stop(),
  };
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
      const { block } = JSON.parse(record.value.toString('latin1')) as { block?: Partial<BlockRef> };
      const { number, hash, timestamp } = block ?? {};
      if (Number.isSafeInteger(number) && Number.isSafeInteger(timestamp) && typeof hash === 'string') {
        return { type: 'BlockProcessed', block: { number, hash, timestamp } as BlockRef };
      }
    } catch {
      // Left to the schema, which says what is wrong.
    }
  }
  return decodeMakerEvent(record);
}
