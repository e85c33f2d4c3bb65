import type { BlockHeader } from '@makerbook/chain';
import type { Cause } from '@makerbook/contracts-events';
import { partitionOf } from '@makerbook/kafka';
import { type Batch, inBatchSpan } from '@makerbook/telemetry';
import { Touched } from '../watch/match-logs.js';
import { within } from '../within.js';
import type { Holder } from './holder.js';
import { readMakers } from './read-makers.js';

const CAUSE: Cause = { kind: 'read', occasion: 'ORDER' };
const ORDERS_MAX = 500;
/** The pause between two searches for orders whose reading does not count in the log. */
const IDLE_MS = 500;

type OrderWork = Holder<
  | 'watched'
  | 'followed'
  | 'signal'
  | 'reader'
  | 'publisher'
  | 'position'
  | 'partitions'
  | 'readingBlocks'
  | 'monotonicMs'
  | 'topics'
>;

/**
 * Reads every order that no reading in the log names, until the signal is aborted. Reads its own state (it may have
 * been filled or cancelled before it was posted), its pair's funds and its maker's nonce, at the block that was matched
 * last. Every later block is matched with the order in the watched set, so there is no gap. An order whose record does
 * not count in the log is still unread, and is read again.
 */
export async function readNewOrders(
  work: OrderWork & Holder<'wait' | 'settings' | 'retryFor' | 'mutex'>,
): Promise<void> {
  const { signal, wait, settings, retryFor, followed, monotonicMs } = work;
  const retry = retryFor('orders');
  /**
   * The log offset of each order's reading, keyed by slot. No order is read again before the log is read up to there.
   */
  const appended: Appended = new Map();
  let readAtMs = Number.NEGATIVE_INFINITY;
  const isThere = () => work.position.matched !== undefined && waitingOrders(work, appended).length > 0;
  while (!signal.aborted) {
    if (!isThere()) {
      await within(wait(IDLE_MS), (over) => followed.until(isThere, over));
      continue;
    }
    const leftMs = readAtMs + settings.ORDER_GATHER_MS - monotonicMs();
    if (leftMs > 0) await wait(leftMs);
    if (signal.aborted) return;
    readAtMs = monotonicMs();
    await retry(() => work.mutex.run(() => readAndPublish(work, appended)));
  }
}

type Appended = Map<number, { readonly partition: number; readonly offset: bigint }>;

async function readAndPublish(work: OrderWork, appended: Appended): Promise<void> {
  const { watched, signal, reader, publisher, position, partitions } = work;
  if (signal.aborted || reader === undefined || position.matched === undefined) return;
  const at = await work.readingBlocks.choose(position.matched);
  // Another block was matched meanwhile. An order that is new since then has to be read at that block.
  if (at.number < position.matched.number) return;
  // Do not await between this and the reading's calls: slots are reused.
  const touched = new Touched(watched);
  const orders = waitingOrders(work, appended);
  for (const order of orders) touched.order(order, CAUSE, watched.unread.get(order)?.trace);
  if (at.number > (position.processed?.number ?? -1)) touched.widen(at.number, work.monotonicMs());
  const partitionsOf = orders.map((order) => partitionOf(watched.pairOf(order).maker.address, partitions));
  const last = await inBatchSpan(describeReading(work, orders, at), async () =>
    publisher.publish(await readMakers(reader, touched.makers.values(), at)),
  );
  for (const [n, order] of orders.entries()) {
    const partition = partitionsOf[n] ?? 0;
    appended.set(order, { partition, offset: last.get(partition) ?? -1n });
  }
}

/** Links the span of a reading to the traces of the requests that submitted the orders. */
function describeReading(
  { watched, topics }: Holder<'watched' | 'topics'>,
  orders: readonly number[],
  at: BlockHeader,
): Batch<number> {
  return {
    topic: topics.makerEvents,
    parts: orders,
    attributes: { 'messaging.batch.message_count': orders.length, 'makerbook.block': at.number },
    traceOf: (order) => watched.unread.get(order)?.trace,
    describe: (order) => ({
      'makerbook.maker': watched.pairOf(order).maker.address,
      'makerbook.order_hash': watched.orderHash(order),
    }),
  };
}

/** Unread orders, the oldest first, without those whose reading is appended and not read back yet. */
function waitingOrders({ watched, followed }: Holder<'watched' | 'followed'>, appended: Appended): number[] {
  for (const [order, { partition, offset }] of appended) {
    if ((followed.partitions[partition]?.position ?? 0n) > offset) appended.delete(order);
  }
  const waiting: number[] = [];
  for (const order of watched.unread.keys()) {
    if (!appended.has(order)) waiting.push(order);
    if (waiting.length === ORDERS_MAX) break;
  }
  return waiting;
}
