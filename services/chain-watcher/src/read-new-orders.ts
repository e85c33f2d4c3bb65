import type { Cause, MakerFact } from '@makerbook/contracts-events';
import type { OpenedOrder } from './follow-log.js';
import type { ReadPoint } from './keep-read-point.js';
import type { WatchedSet } from './keep-watched-set.js';
import type { Touched } from './match-logs.js';
import type { FactPublisher } from './publish-facts.js';
import { type FactReader, readFacts } from './read-facts.js';

/** Reads what the chain says of orders that are new in the log, and of their pairs and makers where nothing is known. */
export interface NewOrderReader {
  add(opened: readonly OpenedOrder[]): void;
  /** Resolves when all orders that were added before have been read and published; or on abort. */
  settled(signal: AbortSignal): Promise<void>;
  /** Orders that wait to be read. */
  waiting(): number;
}

export interface NewOrderReaderOptions {
  readonly watched: WatchedSet;
  readonly reader: FactReader;
  readonly publisher: FactPublisher;
  readonly readPoint: ReadPoint;
  /** How long an order waits for company. */
  readonly gatherMs: number;
  readonly wait: (ms: number) => Promise<void>;
  readonly retry: <T>(work: () => Promise<T>) => Promise<T>;
  readonly onFatal: (error: Error) => void;
}

const CAUSE: Cause = { kind: 'read', occasion: 'ORDER' };
const ORDERS_MAX = 500;

/**
 * An order may be posted after it was partly filled or cancelled on-chain, so its own state is read too, and it stays
 * VALIDATING until then. All is read at the block whose logs were matched last, or a later one: every later block is
 * matched with the order in the watched set, so together they leave no gap.
 */
export function createNewOrderReader(options: NewOrderReaderOptions): NewOrderReader {
  const { watched, reader, publisher, readPoint, gatherMs, wait, retry, onFatal } = options;
  let queue: OpenedOrder[] = [];
  /** What is being read, last one first. */
  let reading: OpenedOrder[] = [];
  let added = 0;
  let done = 0;
  let isWorking = false;
  let hasFailed = false;
  const waiters: { readonly upTo: number; readonly resolve: () => void }[] = [];

  const take = () => {
    if (reading.length === 0) {
      reading = queue.reverse();
      queue = [];
    }
    return reading.splice(-ORDERS_MAX).reverse();
  };

  const readAll = async () => {
    await wait(gatherMs);
    for (let batch = take(); batch.length > 0; batch = take()) {
      await retry(async () => {
        const block = await readPoint.at();
        const { touched, traceparents } = touchedBy(batch, watched);
        const facts = ordersLast(await readFacts(reader, touched, block));
        await publisher.publish(facts, (fact) => traceparents.get(fact.maker));
      });
      done += batch.length;
      while (waiters[0] !== undefined && waiters[0].upTo <= done) waiters.shift()?.resolve();
    }
  };

  const start = () => {
    if (isWorking || hasFailed || queue.length === 0 || !readPoint.isKnown) return;
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
      for (const each of opened) queue.push(each);
      added += opened.length;
      start();
    },
    settled: (signal) => {
      start();
      const upTo = added;
      if (upTo <= done || signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const finish = () => {
          signal.removeEventListener('abort', finish);
          resolve();
        };
        signal.addEventListener('abort', finish, { once: true });
        waiters.push({ upTo, resolve: finish });
      });
    },
    waiting: () => added - done,
  };
}

/** So that whatever an order is judged by is in the log before the fact that lets it be judged. */
function ordersLast(facts: readonly MakerFact[]): MakerFact[] {
  const isOfOrder = ({ type }: MakerFact) => type === 'OrderFilled' || type === 'OrderCancelledOnChain';
  return [...facts.filter((fact) => !isOfOrder(fact)), ...facts.filter(isOfOrder)];
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
      touched.pairs.push({ maker, token: watched.tokenAddress(pair), cause: CAUSE });
    }
    pairs.add(pair);
  }
  return { touched, traceparents };
}
