import { Mutex, staysWatched, Touched, WatchedSet, Work } from '@makerbook/chain-watcher/testing';
import { decodeMakerEvent } from '@makerbook/contracts-events';
import type { LogRecord } from '@makerbook/kafka';
import { LogInMemory } from '@makerbook/kafka/testing';
import { replaceMethod } from '@makerbook/parts';
import type { ProjectedPartition } from '@makerbook/postgres';
import { breakPromise, type Defect } from './find-defect.js';
import { StoreInMemory } from './hold-store.js';

/** Private members of a class, by their names. */
// biome-ignore lint/suspicious/noExplicitAny: the rule to leave out is behind a private name.
const insides = (type: { readonly prototype: unknown }): any => type.prototype;

function isBlock(record: LogRecord): boolean {
  const fact = decodeMakerEvent(record);
  return !('unreadable' in fact) && fact.type === 'BlockProcessed';
}

/** Changes what a watcher starts from. */
function changeSnapshot(change: (start: ProjectedPartition) => ProjectedPartition): () => void {
  return replaceMethod(
    StoreInMemory.prototype,
    'projected',
    (projected) =>
      function (this: StoreInMemory) {
        return projected.call(this).map(change);
      },
  );
}

/** Each watcher publishes under an id of its own. */
function unfenced(): () => void {
  let opened = 0;
  return replaceMethod(
    LogInMemory.prototype,
    'connect',
    (connect) =>
      function (this: LogInMemory, send) {
        const view = connect.call(this, send);
        return {
          ...view,
          createFencedPublisher: ({ transactionalId: id, ...options }) => {
            opened += 1;
            const transactionalId = id === 'chain-watcher' ? `${id} ${opened}` : id;
            return view.createFencedPublisher({ ...options, transactionalId });
          },
        };
      },
  );
}

/** Has an order leave from those after which an order stays watched. */
function unwatchedOn(removal: string): Defect['plant'] {
  return () => {
    staysWatched.delete(removal);
    return () => void staysWatched.add(removal);
  };
}

export const watcherDefects: readonly Defect[] = [
  { name: 'a take-over does not raise the epoch', plant: breakPromise(LogInMemory, 'raisesNoEpoch') },
  { name: 'watchers do not fence each other', plant: unfenced },
  {
    name: 'fills of orders that are not watched any more are not told',
    plant: () =>
      replaceMethod(
        insides(Work),
        'openWork',
        (openWork) =>
          function (this: Work, ...given: unknown[]) {
            return { ...(openWork.apply(this, given) as object), isMaker: () => false };
          },
      ),
  },
  {
    name: 'a new order does not read its nonce',
    plant: () =>
      replaceMethod(
        Touched.prototype,
        'order',
        (order) =>
          function (this: Touched, ...given: Parameters<Touched['order']>) {
            order.apply(this, given);
            for (const maker of this.makers.values()) maker.nonce = false;
          },
      ),
  },
  {
    name: 'what is read beyond the matched block is not all of a maker',
    plant: () => replaceMethod(Touched.prototype, 'widen', () => () => undefined),
  },
  {
    name: 'new orders are read while a block is published',
    plant: () => replaceMethod(Mutex.prototype, 'run', () => (work) => work()),
  },
  {
    name: 'a block is published before what was read at it',
    plant: () =>
      replaceMethod(
        LogInMemory.prototype,
        'store',
        (store) =>
          function (this: LogInMemory, records: readonly LogRecord[], ...rest) {
            const sorted = records.toSorted((a, b) => Number(isBlock(b)) - Number(isBlock(a)));
            return store.call(this, sorted, ...rest);
          },
      ),
  },
  {
    name: 'a holder does not read the orders that the one before it has not read',
    plant: () =>
      replaceMethod(
        insides(Work),
        'publishFacts',
        (publishFacts) =>
          function (this: Work, ...given: unknown[]) {
            (this.watched.unread as Map<number, unknown>).clear();
            return publishFacts.apply(this, given);
          },
      ),
  },
  {
    name: 'the log is read from behind the snapshot',
    plant: () => changeSnapshot((start) => ({ ...start, nextOffset: start.nextOffset + 1n })),
  },
  {
    name: 'an order leaves the watched set when its maker cannot be folded',
    plant: unwatchedOn('QUARANTINED'),
  },
  {
    name: 'an order leaves the watched set when its maker is suspended',
    plant: unwatchedOn('SUSPENDED'),
  },
  {
    name: 'the orders of a released maker are not read again',
    plant: () => replaceMethod(WatchedSet.prototype, 'markUnread', () => () => undefined),
  },
  {
    name: 'an order leaves the watched set before it expires',
    plant: () =>
      replaceMethod(
        WatchedSet.prototype,
        'expire',
        (expire) =>
          function (this: WatchedSet, nowSeconds: number) {
            return expire.call(this, nowSeconds + 25);
          },
      ),
  },
];
