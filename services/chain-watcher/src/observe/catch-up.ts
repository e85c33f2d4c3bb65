import {
  type BlockHeader,
  type ChainLog,
  type LogFilter,
  RpcRefused,
  RpcUnavailable,
  readBlockAndHead,
  readLogs,
  readLogsOfRange,
} from '@makerbook/chain';
import type { Cause } from '@makerbook/contracts-events';
import { eventTopics } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import type { MissedFills } from '../watch/follow-log.js';
import { isFill, type MakerToRead, matchLogs, protocolTopics, Touched } from '../watch/match-logs.js';
import { addressIn } from '../watch/watched-maker.js';
import { readKnown } from './choose-block.js';
import type { CatchUpProgress, Holder } from './holder.js';
import { onlyNews } from './only-news.js';
import { RangeSpan } from './range-span.js';
import { blockRefOf, type MakerReader, readMakers } from './read-makers.js';

/** The cause of readings after missed blocks. */
export const CATCH_UP: Cause = { kind: 'read', occasion: 'CATCH_UP' };
const VALUES_MAX = 500;
/** How many blocks back to look for missed fills, at least. */
const MISSED_BLOCKS = 100;
/** How many blocks with fills are read together. */
const BLOCKS_AT_ONCE = 10;

export type CatchUpWork = Holder<
  | 'reader'
  | 'position'
  | 'signal'
  | 'retryFor'
  | 'node'
  | 'followed'
  | 'watched'
  | 'mutex'
  | 'publisher'
  | 'readingBlocks'
  | 'monotonicMs'
  | 'partitions'
  | 'wait'
  | 'onCatchUp'
  | 'onBlock'
>;

/**
 * Rereads all watched makers at the head, and of the missed blocks only the protocol's own logs, so the cost grows with
 * the pairs and not with the blocks. Then publishes the head as processed.
 * @param before the last block that was processed
 * @returns the head; undefined if another watcher took over meanwhile
 */
export async function catchUpAtHead(work: CatchUpWork, before: BlockHeader): Promise<BlockHeader | undefined> {
  const { reader, position, signal } = work;
  const retry = work.retryFor('blocks');
  // Require the chain to hold the block before. Otherwise the head of a node of another chain could be published.
  const { newest: head } = await retry(() => readKnown(work.node, before, work.followed.newestRead));
  // From here on an order that is new in the log is read at the head or later.
  position.matched = head;
  if (reader !== undefined) {
    const from = before.number + 1;
    const total = head.number - before.number;
    const changed = await matchMissedLogs(from, head, reader, work, (done) =>
      reportProgress(work, { step: 'blocks', done, total }),
    );
    await publishMakers(changed, head, reader, work);
  }
  if (signal.aborted) return undefined;
  await work.mutex.run(() => retry(() => publishHead(head, work)));
  position.catchUp = undefined;
  return head;
}

/**
 * Publishes the fills in blocks that were matched before these makers were known, and in some blocks before those,
 * because an order may be filled before its maker is admitted. A fill that the log already has counts once: its place
 * on the chain is the key of its row.
 *
 * After a crash a partition may be ahead. It takes no readings of an earlier block, and is not sent the blocks that it
 * has. So this covers the fills up to the newest block of the log, and publishes them with that block.
 * @param before the last block that all partitions have
 */
export async function publishMissedFills(
  { from, makers }: MissedFills,
  before: BlockHeader,
  work: Holder<'reader' | 'signal' | 'node' | 'followed' | 'watched' | 'retryFor' | 'mutex' | 'publisher'>,
): Promise<void> {
  const { reader, signal, node, followed } = work;
  if (reader === undefined || from === Number.POSITIVE_INFINITY) return;
  const newest = followed.newestBlock();
  const isAhead = newest !== undefined && newest.number > before.number;
  const last = isAhead ? (await work.retryFor('blocks')(() => readKnown(node, newest))).block : before;
  const recent = Math.max(0, before.number - MISSED_BLOCKS);
  const first = from === 0 ? recent : Math.min(from, recent);
  const missed = await matchMissedLogs(first, last, reader, work, () => undefined, makers);
  if (!signal.aborted) await publishFills([...missed.makers.values()], last, reader, work);
}

/** Publishes a block without readings to every partition. */
export async function publishHead(
  head: BlockHeader,
  work: Holder<'publisher' | 'partitions' | 'position' | 'onBlock'>,
): Promise<void> {
  const block = blockRefOf(head);
  await work.publisher.publishBlock([], block, [...Array(work.partitions).keys()]);
  work.position.processed = block;
  work.onBlock(block, 0, undefined);
}

/** Reports how far catching up has come. */
export function reportProgress(
  { position, onCatchUp }: Holder<'position' | 'onCatchUp'>,
  progress: CatchUpProgress,
): void {
  position.catchUp = progress;
  onCatchUp(progress);
}

async function publishMakers(
  changed: Touched,
  head: BlockHeader,
  reader: MakerReader,
  work: Omit<CatchUpWork, 'node' | 'reader' | 'onBlock'>,
): Promise<void> {
  const { watched, publisher, readingBlocks, mutex, signal } = work;
  const retry = work.retryFor('blocks');
  const makers = [...watched.makers()];
  for (let from = 0; from < makers.length && !signal.aborted; ) {
    reportProgress(work, { step: 'makers', done: from, total: makers.length });
    from = await mutex.run(() =>
      retry(async () => {
        const at = await readingBlocks.choose(head);
        const touched = new Touched(watched);
        let [next, values] = [from, 0];
        for (const maker of makers.slice(from, from + VALUES_MAX)) {
          if (values >= VALUES_MAX) break;
          const known = changed.makers.get(maker.address);
          const toRead = touched.maker(maker, known?.cause ?? CATCH_UP);
          // At a later block than the one whose logs were matched, other orders may have changed.
          touched.signatures(maker, CATCH_UP, at.number, work.monotonicMs());
          touched.whole(maker, CATCH_UP, at.number > head.number);
          for (const orderHash of known?.orders ?? []) touched.order(watched.findOrder(orderHash), CATCH_UP);
          for (const fill of known?.fills ?? []) toRead.fills.push(fill);
          values += toRead.tokens.size + toRead.orders.size + 1;
          next += 1;
        }
        const observed = await readMakers(reader, touched.makers.values(), at);
        await publisher.publish(await onlyNews(observed, work));
        return next;
      }),
    );
  }
  if (signal.aborted) return;
  const watchedNow = new Set(makers.map(({ address }) => address));
  const others = [...changed.makers.values()].filter(({ maker }) => !watchedNow.has(maker));
  await publishFills(others, head, reader, work);
}

async function publishFills(
  makers: readonly MakerToRead[],
  at: BlockHeader,
  reader: MakerReader,
  { mutex, publisher, retryFor }: Holder<'mutex' | 'publisher' | 'retryFor'>,
): Promise<void> {
  const onlyFills = makers
    .filter(({ fills }) => fills.length > 0)
    .map((each) => ({ ...each, nonce: false, tokens: new Set<never>(), orders: new Set<never>(), taking: new Map() }));
  await mutex.run(() => retryFor('blocks')(async () => publisher.publish(await readMakers(reader, onlyFills, at))));
}

/** Matches the protocol's logs in the missed blocks, for some makers or all. Halves a range that fails. */
async function matchMissedLogs(
  from: number,
  head: BlockHeader,
  reader: MakerReader,
  work: Holder<'watched' | 'node' | 'signal' | 'retryFor'>,
  onBlocks: (done: number) => void,
  makers?: ReadonlySet<Address>,
): Promise<Touched> {
  const { watched, signal } = work;
  const retry = work.retryFor('blocks');
  const changed = new Touched(watched);
  const span = new RangeSpan();
  for (let start = from; start <= head.number && !signal.aborted; ) {
    onBlocks(start - from);
    const { logs: found, blocks } = await retry(() => readRange(start, head.number, span, reader, work));
    const logs = found.filter(({ topics }) => makers?.has(addressIn(topics[1] ?? '0x')) ?? true);
    const fills = logs.filter((log) => isFill(log, reader.protocol) && watched.knows(log.topics[1] ?? '0x'));
    const { moves, times } = await readFillBlocks(fills, work);
    const all = [...logs, ...moves].sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
    matchLogs(all, { watched, protocol: reader.protocol, times }, changed);
    start += blocks;
  }
  return changed;
}

/**
 * Reads what the protocol's logs do not say: which tokens the fills' transactions moved, and the time of each block.
 */
async function readFillBlocks(
  fills: readonly ChainLog[],
  { node, signal, retryFor }: Holder<'node' | 'signal' | 'retryFor'>,
) {
  const transactions = new Set(fills.map(({ transactionHash }) => transactionHash));
  const numbers = [...new Set(fills.map(({ blockNumber }) => blockNumber))];
  const moves: ChainLog[] = [];
  const times = new Map<number, number>();
  for (let from = 0; from < numbers.length && !signal.aborted; from += BLOCKS_AT_ONCE) {
    const some = numbers.slice(from, from + BLOCKS_AT_ONCE);
    await Promise.all(
      some.map(async (number) => {
        const topics = [eventTopics.transfer];
        const { header, logs } = await retryFor('blocks')(() => readLogsOfBlock(number, { topics }, { node }));
        times.set(number, header.timestamp);
        moves.push(...logs.filter(({ transactionHash }) => transactions.has(transactionHash)));
      }),
    );
  }
  return { moves, times };
}

/** Reads a block's logs. If they are so many that the node refuses them, they come from the block's receipts. */
async function readLogsOfBlock(number: number, filter: LogFilter, { node }: Holder<'node'>) {
  const { block: header, logsBloom } = await readBlockAndHead(node, number);
  if (header === undefined) throw new RpcUnavailable(`the node does not have block ${number} yet`);
  return { header, logs: await readLogs(node, { ...header, logsBloom }, filter) };
}

/** Reads the logs of one range. After an RpcUnavailable the next try has a smaller span. */
async function readRange(
  start: number,
  last: number,
  span: RangeSpan,
  reader: MakerReader,
  work: Holder<'node'>,
): Promise<{ readonly logs: readonly ChainLog[]; readonly blocks: number }> {
  const blocks = Math.min(span.blocks, last - start + 1);
  const filter = { address: reader.protocol, topics: protocolTopics };
  try {
    const logs = await readLogsOfRange(work.node, start, start + blocks - 1, filter);
    span.gave();
    return { logs, blocks };
  } catch (error) {
    const isRefused = error instanceof RpcRefused;
    if (isRefused || error instanceof RpcUnavailable) span.failed(blocks, isRefused);
    if (!isRefused) throw error;
    if (blocks > 1) return readRange(start, last, span, reader, work);
    return { logs: (await readLogsOfBlock(start, filter, work)).logs, blocks };
  }
}
