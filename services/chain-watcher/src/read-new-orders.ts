import type { Cause, MakerFact } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-evm';
import type { OpenedOrder } from './follow-log.js';
import type { ReadPoint } from './keep-read-point.js';
import type { WatchedSet } from './keep-watched-set.js';
import { pairAt, type Touched } from './match-logs.js';
import type { FactPublisher } from './publish-facts.js';
import type { FactReader } from './read-facts.js';
import { readTouched } from './read-whole.js';
import type { Turns } from './take-turns.js';

/** Reads what the chain says of orders that are new in the log, and of their pairs and makers where nothing is known. */
export interface NewOrderReader {
  /** Nothing is read before the first block is matched. */
  add(opened: readonly OpenedOrder[]): void;
  /** Orders that were added before, by their slots: they are to be read again, unless they still wait to be read. */
  addAgain(orders: readonly number[]): void;
  /** Orders that wait to be read. */
  waiting(): number;
  /** Since when the oldest of them has waited, in the clock's milliseconds; undefined when there is none. */
  oldestAtMs(): number | undefined;
}

export interface NewOrderReaderOptions {
  readonly watched: WatchedSet;
  readonly reader: FactReader;
  readonly publisher: FactPublisher;
  readonly readPoint: ReadPoint;
  readonly turns: Turns;
  /** Up to this block the log says what changed; -1 for none. */
  readonly processedBlock: () => number;
  /** How long an order waits for company. */
  readonly gatherMs: number;
  readonly nowMs: () => number;
  readonly wait: (ms: number) => Promise<void>;
  readonly retry: <T>(work: () => Promise<T>) => Promise<T>;
  readonly onFatal: (error: Error) => void;
}

interface Waiting extends OpenedOrder {
  readonly addedAtMs: number;
}

const CAUSE: Cause = { kind: 'read', occasion: 'ORDER' };
const ORDERS_MAX = 500;

/**
 * An order may be posted after it was partly filled or cancelled on-chain, so its own state is read too, and it stays
 * VALIDATING until then. All is read at the block whose logs were matched last, or a later one: every later block is
 * matched with the order in the watched set, so together they leave no gap. Not while a block is read and published: what
 * is known of the maker is of the block before it then.
 */
export function createNewOrderReader(options: NewOrderReaderOptions): NewOrderReader {
  const { watched, reader, publisher, readPoint, turns, processedBlock, gatherMs, nowMs, wait, retry, onFatal } =
    options;
  /** By the order's slot, oldest first. A slot may come to hold another order while it is being read. */
  const queue = new Map<number, Waiting>();
  /** Those of them that are being read. */
  let reading: ReadonlySet<Waiting> = new Set();
  /** Makers of whom all was read and published at this block. */
  const whole = new Set<Address>();
  let wholeAt = -1;
  let isWorking = false;
  let hasFailed = false;

  const readAll = async () => {
    await wait(gatherMs);
    while (queue.size > 0) {
      const batch = await retry(() =>
        turns.take(async () => {
          const at = await readPoint.at();
          const processed = processedBlock();
          if (at.number !== wholeAt) whole.clear();
          wholeAt = at.number;
          const taken =
            at.number > processed ? takeWhole() : firstOf(queue.values(), (_, count) => count === ORDERS_MAX);
          reading = new Set(taken);
          const { touched, traceparents } = touchedBy(taken, watched);
          const facts = await readTouched(reader, watched, touched, at, processed, (maker) => whole.has(maker));
          await publisher.publish(facts, (fact) => traceparents.get(fact.maker));
          if (at.number > processed) for (const { maker } of touched.orders) whole.add(maker);
          return taken;
        }),
      );
      for (const opened of batch) if (queue.get(opened.order) === opened) queue.delete(opened.order);
      reading = new Set();
    }
  };

  /** The first orders of the queue, with few enough others of their makers that are to be read with them. */
  const takeWhole = () => {
    const makers = new Set<number>();
    let orders = 0;
    return firstOf(queue.values(), (taken) => {
      const { order } = taken;
      if (!watched.isOpen(order)) return false;
      const maker = watched.makerOf(watched.pairOf(order));
      const isCounted = makers.has(maker) || whole.has(watched.makerAddress(maker));
      orders += isCounted ? 1 : watched.ordersOf(maker).length;
      makers.add(maker);
      return orders >= ORDERS_MAX;
    });
  };

  const start = () => {
    if (isWorking || hasFailed || queue.size === 0 || !readPoint.isKnown) return;
    isWorking = true;
    readAll()
      .catch((error: Error) => {
        hasFailed = true;
        onFatal(error);
      })
      .finally(() => {
        isWorking = false;
        start();
      });
  };

  return {
    add: (opened) => {
      const addedAtMs = nowMs();
      for (const { order, traceparent } of opened) queue.set(order, { order, traceparent, addedAtMs });
      start();
    },
    addAgain: (orders) => {
      const addedAtMs = nowMs();
      for (const order of orders) {
        const known = queue.get(order);
        if (known === undefined) queue.set(order, { order, traceparent: undefined, addedAtMs });
        // What is being read of it may be what came too late.
        else if (reading.has(known)) queue.set(order, { ...known });
      }
      start();
    },
    waiting: () => queue.size,
    oldestAtMs: () => queue.values().next().value?.addedAtMs,
  };
}

/** The first values up to one with which it is enough. */
function firstOf<T>(values: Iterable<T>, isEnough: (value: T, count: number) => boolean): T[] {
  const first: T[] = [];
  for (const value of values) if (isEnough(value, first.push(value))) break;
  return first;
}

/** What to read, as of now: orders that are still open, pairs whose funds are not known, makers whose nonce is not. */
function touchedBy(
  batch: readonly OpenedOrder[],
  watched: WatchedSet,
): { touched: Touched; traceparents: ReadonlyMap<MakerFact['maker'], string> } {
  const touched: Touched = { pairs: [], makers: [], orders: [] };
  const traceparents = new Map<MakerFact['maker'], string>();
  const pairs = new Set<number>();
  const makers = new Set<number>();
  for (const { order, traceparent } of batch) {
    if (!watched.isOpen(order)) continue;
    const pair = watched.pairOf(order);
    const makerSlot = watched.makerOf(pair);
    const maker = watched.makerAddress(makerSlot);
    if (traceparent !== undefined) traceparents.set(maker, traceparent);
    touched.orders.push({ maker, orderHash: watched.orderHash(order), cause: CAUSE });
    if (!makers.has(makerSlot) && !watched.isNonceRead(makerSlot)) touched.makers.push({ maker, cause: CAUSE });
    makers.add(makerSlot);
    if (!pairs.has(pair) && !watched.isFunded(pair)) {
      touched.pairs.push(pairAt(pair, watched, CAUSE));
    }
    pairs.add(pair);
  }
  return { touched, traceparents };
}
