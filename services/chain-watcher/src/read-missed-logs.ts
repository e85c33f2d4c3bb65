import {
  type BlockHeader,
  type ChainLog,
  type Node,
  RpcRefused,
  RpcUnavailable,
  readLogsOfRange,
} from '@makerbook/chain';
import type { Cause } from '@makerbook/contracts-events';
import { eventTopics } from '@makerbook/contracts-evm';
import { say, type WatchOptions } from './keep-position.js';
import type { WatchedSet } from './keep-watched-set.js';
import { protocolTopics, type TouchedOrder } from './match-logs.js';
import { RangeSpan } from './range-span.js';
import type { FactReader } from './read-facts.js';

/** The open orders that the protocol's logs of the missed blocks name. A range that fails is halved before it is tried again. */
export async function matchMissedLogs(
  from: number,
  head: BlockHeader,
  reader: FactReader,
  options: WatchOptions,
): Promise<TouchedOrder[]> {
  const { node, watched, signal, retry } = options;
  const touched = new Map<number, TouchedOrder>();
  const total = head.number - from + 1;
  const span = new RangeSpan();
  for (let start = from; start <= head.number && !signal.aborted; ) {
    say({ step: 'blocks', done: start - from, total }, options);
    const { logs, blocks } = await retry(() => readRange(node, reader, start, head.number, span));
    for (const log of logs) touchOrderOf(log, touched, watched);
    start += blocks;
  }
  return [...touched.values()];
}

/** Throws RpcUnavailable, then with a smaller span for the next try, or RpcRefused where a single block is refused too. */
async function readRange(
  node: Node,
  reader: FactReader,
  start: number,
  last: number,
  span: RangeSpan,
): Promise<{ readonly logs: readonly ChainLog[]; readonly blocks: number }> {
  const blocks = Math.min(span.blocks, last - start + 1);
  try {
    const filter = { address: reader.protocol, topics: protocolTopics };
    const logs = await readLogsOfRange(node, start, start + blocks - 1, filter);
    span.gave();
    return { logs, blocks };
  } catch (error) {
    const isRefused = error instanceof RpcRefused;
    if (isRefused || error instanceof RpcUnavailable) span.failed(blocks, isRefused);
    if (!isRefused || blocks === 1) throw error;
    return readRange(node, reader, start, last, span);
  }
}

function touchOrderOf(
  { topics: [topic, maker, orderHash], transactionHash, logIndex }: ChainLog,
  touched: Map<number, TouchedOrder>,
  watched: WatchedSet,
): void {
  if (topic === eventTopics.allOrdersCancelled || maker === undefined || orderHash === undefined) return;
  const order = watched.findOpenOrder(orderHash);
  if (order < 0 || touched.has(order)) return;
  const cause: Cause = { kind: 'log', transactionHash, logIndex };
  touched.set(order, { maker: `0x${maker.slice(-40)}`, orderHash, cause });
}
