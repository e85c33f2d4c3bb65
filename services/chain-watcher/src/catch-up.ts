import type { BlockHeader } from '@makerbook/chain';
import type { Cause } from '@makerbook/contracts-events';
import { type CatchUpProgress, noteMatched, publishBlock, readPublished, type WatchOptions } from './keep-position.js';
import { readHead } from './keep-read-point.js';
import type { WatchedSet } from './keep-watched-set.js';
import type { Touched } from './match-logs.js';
import { blockRefOf, type FactReader, readFacts } from './read-facts.js';
import { matchMissedLogs } from './read-missed-logs.js';
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
