import {
  type BlockHeader,
  type ChainLog,
  type Node,
  RpcRefused,
  RpcUnavailable,
  readBlock,
  readLogsOfRange,
} from '@makerbook/chain';
import type { Cause } from '@makerbook/contracts-events';
import { eventTopics } from '@makerbook/contracts-evm';
import type { WatchedSet } from './keep-watched-set.js';
import { protocolTopics, type Touched } from './match-logs.js';
import { blockRefOf, type FactReader, readFacts } from './read-facts.js';
import { rereadSlots } from './reread-pairs.js';
import { isPublished, readPublished, type WatchOptions } from './watch-blocks.js';

/** How far catching up has come. `done` of `total` pairs were read. */
export interface CatchUpProgress {
  readonly done: number;
  readonly total: number;
}

/**
 * Reads all watched pairs and makers anew at the head, and of the missed blocks only the protocol's own logs: its cost
 * follows the number of pairs, not of blocks. Then the head is published as processed.
 * @param before the last block that was processed; undefined at the very first start: then every open order is read too.
 */
export async function catchUpAtHead(options: WatchOptions, before: BlockHeader | undefined): Promise<void> {
  const { node, watched, log, publisher, reader, orders, state, signal, retry } = options;
  state.phase = 'CATCHING_UP';
  if (before !== undefined) {
    await retry(() => readPublished(node, before));
    await log.reached(before.number, signal);
  }
  const head = await retry(() => readHead(node));
  if (signal.aborted) return;
  // From here on: what joins the watched set is read at the head or later by the reader of new orders.
  state.matched = head;
  const settled = orders?.settled(signal);
  if (reader !== undefined) {
    const touched =
      before === undefined
        ? touchAllOrders(watched)
        : await retry(() => matchMissedLogs(node, reader, watched, before.number + 1, head.number));
    await publishOrders(touched, head, reader, options);
    await publishPairs(head, reader, options);
  }
  await settled;
  if (signal.aborted) return;
  const block = blockRefOf(head);
  await retry(() => publisher.publishBlock([], block, (partition) => isPublished(partition, block, watched)));
  state.processed = block;
  state.catchUp = undefined;
  options.onBlock(block, 0);
}

async function publishOrders(
  touched: Touched,
  head: BlockHeader,
  reader: FactReader,
  { publisher, signal, retry }: WatchOptions,
): Promise<void> {
  for (let from = 0; from < touched.orders.length && !signal.aborted; from += CHUNK) {
    const chunk: Touched = { pairs: [], makers: [], orders: touched.orders.slice(from, from + CHUNK) };
    await retry(async () => publisher.publish(await readFacts(reader, chunk, head)));
  }
}

/** In chunks, each at a head that is not old: a node forgets the state of blocks after some minutes. */
async function publishPairs(head: BlockHeader, reader: FactReader, options: WatchOptions): Promise<void> {
  const { node, watched, publisher, signal, retry, nowMs, state } = options;
  const total = watched.sizes().pairs;
  let done = 0;
  let at = head;
  let atSinceMs = nowMs();
  state.catchUp = { done, total };
  for (let from: number | undefined = 0; from !== undefined && !signal.aborted; ) {
    if (nowMs() - atSinceMs > HEAD_AGE_MS_MAX) {
      const newer = await retry(() => readHead(node));
      if (newer.number >= at.number) at = newer;
      atSinceMs = nowMs();
    }
    const start: number = from;
    const { facts, next, pairs } = await retry(() => rereadSlots(reader, watched, at, 'CATCH_UP', start, CHUNK));
    if (facts.length > 0) await retry(() => publisher.publish(facts));
    done += pairs;
    state.catchUp = { done, total: Math.max(done, total) };
    options.onCatchUp(state.catchUp, blockRefOf(head));
    from = next;
  }
}

/** The open orders that the protocol's logs of some blocks name. A range that the node finds too large is halved. */
async function matchMissedLogs(
  node: Node,
  reader: FactReader,
  watched: WatchedSet,
  from: number,
  to: number,
): Promise<Touched> {
  const touched: Touched = { pairs: [], makers: [], orders: [] };
  const seen = new Set<number>();
  let span = RANGE_BLOCKS_MAX;
  for (let start = from; start <= to; ) {
    const end = Math.min(start + span - 1, to);
    let logs: readonly ChainLog[];
    try {
      logs = await readLogsOfRange(node, start, end, { address: reader.protocol, topics: protocolTopics });
    } catch (error) {
      if (!(error instanceof RpcRefused) || end === start) throw error;
      span = Math.ceil((end - start + 1) / 2);
      continue;
    }
    for (const { topics, transactionHash, logIndex } of logs) {
      const [topic, maker, orderHash] = topics;
      if (topic === eventTopics.allOrdersCancelled || maker === undefined || orderHash === undefined) continue;
      const order = watched.findOpenOrder(orderHash);
      if (order < 0 || seen.has(order)) continue;
      seen.add(order);
      const cause: Cause = { kind: 'log', transactionHash, logIndex };
      touched.orders.push({ maker: `0x${maker.slice(-40)}`, orderHash, cause });
    }
    start = end + 1;
  }
  return touched;
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

async function readHead(node: Node): Promise<BlockHeader> {
  const head = await readBlock(node, 'latest');
  if (head === undefined) throw new RpcUnavailable('the node has no newest block');
  return head;
}

const CHUNK = 500;
const HEAD_AGE_MS_MAX = 20_000;
const RANGE_BLOCKS_MAX = 5000;
