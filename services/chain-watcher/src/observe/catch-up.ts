import { type BlockHeader, type ChainLog, RpcRefused, RpcUnavailable, readLogsOfRange } from '@makerbook/chain';
import type { Cause } from '@makerbook/contracts-events';
import { eventTopics } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';
import { causeOf, protocolTopics, Touched } from '../watch/match-logs.js';
import { readKnown } from './choose-block.js';
import type { CatchUpProgress, HolderWork } from './holder-work.js';
import { onlyNews } from './only-news.js';
import { RangeSpan } from './range-span.js';
import { blockRefOf, type MakerReader, readMakers } from './read-makers.js';

/**
 * Reads all watched makers anew at the head, and of the missed blocks only the protocol's own logs: its cost follows the
 * number of pairs, not of blocks. Then the head is published as processed.
 * @param before the last block that was processed
 * @returns the head; undefined where another watcher took over meanwhile
 */
export async function catchUpAtHead(work: HolderWork, before: BlockHeader): Promise<BlockHeader | undefined> {
  const { reader, position, signal, publisher, partitions } = work;
  const retry = work.retryFor('blocks');
  const head = await retry(() => readHeadAfter(before, work));
  // An order that is new in the log is now read at the head or later.
  position.matched = head;
  if (reader !== undefined) {
    const changed = await matchMissedLogs(before.number + 1, head, reader, work);
    await publishMakers(changed, head, reader, work);
  }
  if (signal.aborted) return undefined;
  const block = blockRefOf(head);
  await work.mutex.run(() => retry(() => publisher.publishBlock([], block, [...Array(partitions).keys()])));
  position.processed = block;
  position.catchUp = undefined;
  work.onBlock(block, 0, undefined);
  return head;
}

/** Reports how far catching up has come. */
export function reportProgress({ position, onCatchUp }: HolderWork, progress: CatchUpProgress): void {
  position.catchUp = progress;
  onCatchUp(progress);
}

/** The head of a chain that holds the block before: else a node of another chain could have its head published. */
async function readHeadAfter(before: BlockHeader, { node, followed }: HolderWork): Promise<BlockHeader> {
  return (await readKnown(node, before, followed.newestRead())).newest;
}

/** Orders that may have changed, with the log that shows it. */
type ChangedOrders = ReadonlyMap<Hex, Cause>;

async function publishMakers(
  changed: ChangedOrders,
  head: BlockHeader,
  reader: MakerReader,
  work: HolderWork,
): Promise<void> {
  const { watched, publisher, readingBlocks, mutex, signal } = work;
  const retry = work.retryFor('blocks');
  let from: number | undefined = 0;
  let done = 0;
  while (from !== undefined && !signal.aborted) {
    reportProgress(work, { step: 'makers', done, total: Math.max(done, watched.sizes().makers) });
    const start: number = from;
    from = await mutex.run(() =>
      retry(async () => {
        const at = await readingBlocks.choose(head);
        // At a later block than the one whose logs were matched, other orders may have changed.
        const { touched, next } = nextMakers(work, start, at.number > head.number, changed);
        const observed = await readMakers(reader, touched.makers.values(), at);
        await publisher.publish(await onlyNews(observed, work));
        done += touched.makers.size;
        return next;
      }),
    );
  }
}

/** Watched makers by their slots, from one on, until there is enough for one request or two; and the slot to go on from. */
function nextMakers(
  { watched }: HolderWork,
  from: number,
  withOrders: boolean,
  changed: ChangedOrders,
): { readonly touched: Touched; readonly next: number | undefined } {
  const touched = new Touched(watched);
  let values = 0;
  for (const slot of watched.makerSlots(from)) {
    if (values >= VALUES_MAX) return { touched, next: slot };
    const orders = watched.ordersOf(slot).map((order) => watched.orderHash(order));
    const cause = orders.map((orderHash) => changed.get(orderHash)).find((each) => each !== undefined);
    const toRead = touched.maker(slot, cause ?? CATCH_UP);
    touched.whole(slot, CATCH_UP, withOrders);
    for (const orderHash of orders) if (changed.has(orderHash)) toRead.orders.add(orderHash);
    values += toRead.tokens.size + toRead.orders.size + 1;
  }
  return { touched, next: undefined };
}

/** The watched orders that the protocol's logs of the missed blocks name. A range that fails is halved before it is tried again. */
async function matchMissedLogs(
  from: number,
  head: BlockHeader,
  reader: MakerReader,
  work: HolderWork,
): Promise<ChangedOrders> {
  const { watched, signal } = work;
  const retry = work.retryFor('blocks');
  const changed = new Map<Hex, Cause>();
  const total = head.number - from + 1;
  const span = new RangeSpan();
  for (let start = from; start <= head.number && !signal.aborted; ) {
    reportProgress(work, { step: 'blocks', done: start - from, total });
    const { logs, blocks } = await retry(() => readRange(start, head.number, span, reader, work));
    for (const log of logs) {
      const [topic, , orderHash] = log.topics;
      if (topic === eventTopics.allOrdersCancelled || orderHash === undefined) continue;
      if (watched.findOrder(orderHash) >= 0 && !changed.has(orderHash)) changed.set(orderHash, causeOf(log));
    }
    start += blocks;
  }
  return changed;
}

/** Throws RpcUnavailable, then with a smaller span for the next try, or RpcRefused where a single block is refused too. */
async function readRange(
  start: number,
  last: number,
  span: RangeSpan,
  reader: MakerReader,
  work: HolderWork,
): Promise<{ readonly logs: readonly ChainLog[]; readonly blocks: number }> {
  const blocks = Math.min(span.blocks, last - start + 1);
  try {
    const filter = { address: reader.protocol, topics: protocolTopics };
    const logs = await readLogsOfRange(work.node, start, start + blocks - 1, filter);
    span.gave();
    return { logs, blocks };
  } catch (error) {
    const isRefused = error instanceof RpcRefused;
    if (isRefused || error instanceof RpcUnavailable) span.failed(blocks, isRefused);
    if (!isRefused || blocks === 1) throw error;
    return readRange(start, last, span, reader, work);
  }
}

/** The cause of readings after missed blocks. */
export const CATCH_UP: Cause = { kind: 'read', occasion: 'CATCH_UP' };
const VALUES_MAX = 500;
