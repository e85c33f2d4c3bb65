import { type BlockHeader, type ChainLog, type Node, RpcRefused, readLogsOfRange } from '@makerbook/chain';
import type { Cause } from '@makerbook/contracts-events';
import { eventTopics } from '@makerbook/contracts-evm';
import { type CatchUpProgress, noteMatched, publishBlock, readPublished, type WatchOptions } from './keep-position.js';
import { readHead } from './keep-read-point.js';
import type { WatchedSet } from './keep-watched-set.js';
import { protocolTopics, type Touched } from './match-logs.js';
import { blockRefOf, type FactReader, readFacts } from './read-facts.js';
import { rereadSlots } from './reread-pairs.js';

/**
 * Reads all watched pairs and makers anew at the head, and of the missed blocks only the protocol's own logs: its cost
 * follows the number of pairs, not of blocks. Then the head is published as processed.
 * @param before the last block that was processed; undefined at the very first start: then every open order is read too.
 */
export async function catchUpAtHead(options: WatchOptions, before: BlockHeader | undefined): Promise<void> {
  const { node, watched, log, reader, orders, state, signal, retry } = options;
  state.phase = 'CATCHING_UP';
  if (before !== undefined) await log.reached(before.number, signal);
  // Of a chain that holds the block before: else a node of another chain could have its head published.
  const head = await retry(async () =>
    before === undefined ? readHead(node) : (await readPublished(node, before)).newest,
  );
  if (signal.aborted) return;
  // From here on: what joins the watched set is read at the head or later by the reader of new orders.
  noteMatched(head, head, options);
  const settled = orders?.settled(signal);
  if (reader !== undefined) {
    const touched =
      before === undefined ? touchAllOrders(watched) : await matchMissedLogs(before.number + 1, head, reader, options);
    await publishOrders(touched, reader, options);
    await publishPairs(reader, options);
  }
  await settled;
  if (signal.aborted) return;
  const block = blockRefOf(head);
  await retry(() => publishBlock([], block, options));
  state.processed = block;
  state.catchUp = undefined;
  options.onBlock(block, 0, undefined);
}

/** The open orders that the protocol's logs of the missed blocks name. A range that the node finds too large is halved. */
async function matchMissedLogs(
  from: number,
  head: BlockHeader,
  reader: FactReader,
  options: WatchOptions,
): Promise<Touched> {
  const { node, watched, signal, retry } = options;
  const touched: Touched = { pairs: [], makers: [], orders: [] };
  const seen = new Set<number>();
  const total = head.number - from + 1;
  let span = RANGE_BLOCKS_MAX;
  let ranges = 0;
  for (let start = from; start <= head.number && !signal.aborted; ) {
    say({ step: 'blocks', done: start - from, total }, options);
    const { logs, blocks } = await retry(() => readRange(node, reader, start, Math.min(span, head.number - start + 1)));
    for (const log of logs) touchOrderOf(log, touched, seen, watched);
    start += blocks;
    ranges += 1;
    // What was too large may have been so for the logs in it: now and then a larger one is tried.
    span = Math.min(RANGE_BLOCKS_MAX, ranges % 16 === 0 ? blocks * 2 : blocks);
  }
  return touched;
}

/** Throws RpcUnavailable, or RpcRefused where a single block is refused too. */
async function readRange(
  node: Node,
  reader: FactReader,
  start: number,
  blocks: number,
): Promise<{ readonly logs: readonly ChainLog[]; readonly blocks: number }> {
  try {
    const filter = { address: reader.protocol, topics: protocolTopics };
    return { logs: await readLogsOfRange(node, start, start + blocks - 1, filter), blocks };
  } catch (error) {
    if (!(error instanceof RpcRefused) || blocks === 1) throw error;
    return readRange(node, reader, start, Math.ceil(blocks / 2));
  }
}

function touchOrderOf(
  { topics: [topic, maker, orderHash], transactionHash, logIndex }: ChainLog,
  touched: Touched,
  seen: Set<number>,
  watched: WatchedSet,
): void {
  if (topic === eventTopics.allOrdersCancelled || maker === undefined || orderHash === undefined) return;
  const order = watched.findOpenOrder(orderHash);
  if (order < 0 || seen.has(order)) return;
  seen.add(order);
  const cause: Cause = { kind: 'log', transactionHash, logIndex };
  touched.orders.push({ maker: `0x${maker.slice(-40)}`, orderHash, cause });
}

async function publishOrders(touched: Touched, reader: FactReader, options: WatchOptions): Promise<void> {
  const { publisher, readPoint, signal, retry } = options;
  const total = touched.orders.length;
  for (let from = 0; from < total && !signal.aborted; from += CHUNK) {
    const chunk: Touched = { pairs: [], makers: [], orders: touched.orders.slice(from, from + CHUNK) };
    await retry(async () => publisher.publish(await readFacts(reader, chunk, await readPoint.at())));
    say({ step: 'orders', done: Math.min(from + CHUNK, total), total }, options);
  }
}

async function publishPairs(reader: FactReader, options: WatchOptions): Promise<void> {
  const { watched, publisher, readPoint, signal, retry } = options;
  let done = 0;
  say({ step: 'pairs', done, total: watched.sizes().pairs }, options);
  for (let from: number | undefined = 0; from !== undefined && !signal.aborted; ) {
    const start: number = from;
    const { next, pairs } = await retry(async () => {
      const reread = await rereadSlots(reader, watched, await readPoint.at(), 'CATCH_UP', start, CHUNK);
      if (reread.facts.length > 0) await publisher.publish(reread.facts);
      return reread;
    });
    done += pairs;
    say({ step: 'pairs', done, total: Math.max(done, watched.sizes().pairs) }, options);
    from = next;
  }
}

function touchAllOrders(watched: WatchedSet): Touched {
  const cause: Cause = { kind: 'read', occasion: 'CATCH_UP' };
  const orders = watched.openOrders().map((order) => ({
    maker: watched.makerAddress(watched.makerOf(watched.pairOf(order))),
    orderHash: watched.orderHash(order),
    cause,
  }));
  return { pairs: [], makers: [], orders };
}

function say(progress: CatchUpProgress, { state, onCatchUp }: WatchOptions): void {
  state.catchUp = progress;
  onCatchUp(progress);
}

const CHUNK = 500;
const RANGE_BLOCKS_MAX = 5000;
