import type { ProjectedPartition } from '@makerbook/chain-watcher/testing';
import {
  FollowedLog,
  Mutex,
  PendingBlocks,
  staysWatched,
  TakenBlocks,
  Touched,
  WalletAnswers,
  WatchedSet,
  Work,
} from '@makerbook/chain-watcher/testing';
import { decodeMakerEvent } from '@makerbook/contracts-events';
import type { LogRecord } from '@makerbook/kafka';
import { LogInMemory, type LogView } from '@makerbook/kafka/testing';
import { breakPromise, type Defect, replaceIn } from './find-defect.js';
import { StoreInMemory } from './hold-store.js';

function isBlock(record: LogRecord): boolean {
  const fact = decodeMakerEvent(record);
  return !('unreadable' in fact) && fact.type === 'BlockProcessed';
}

let opened = 0;
/** Each watcher publishes under an id of its own. */
const unfenced = replaceIn(LogInMemory, 'connect', (connect, _, send) => {
  const view: LogView = connect(send);
  const createFencedPublisher: LogView['createFencedPublisher'] = ({ transactionalId: id, ...options }) => {
    opened += 1;
    const transactionalId = id === 'chain-watcher' ? `${id} ${opened}` : id;
    return view.createFencedPublisher({ ...options, transactionalId });
  };
  return { ...view, createFencedPublisher };
});

/** Makes orders leave the watched set on a removal after which they should stay watched. */
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
    name: 'an announcement that nobody takes ends each wait for a block',
    plant: replaceIn(TakenBlocks, 'next', async (next, source: TakenBlocks, number) => {
      const block = next(number);
      return source.headNumber() !== undefined && source.isSubscribed() ? Promise.race([block, undefined]) : block;
    }),
  },
  {
    name: 'a topic that lacks a block is waited for',
    plant: replaceIn(PendingBlocks, 'missingSinceMs', () => Number.POSITIVE_INFINITY),
  },
  {
    name: 'fills of orders that are not watched any more are not told',
    plant: replaceIn(WatchedSet, 'knows', (_knows, set: WatchedSet, maker) => set.findMaker(maker) !== undefined),
  },
  {
    name: 'fills of a maker that was known late are not told',
    plant: replaceIn(FollowedLog, 'takeMissed', (takeMissed) => ({ ...takeMissed(), from: Number.POSITIVE_INFINITY })),
  },
  {
    name: 'fills of a maker are told from its first order on',
    plant: replaceIn(FollowedLog, 'apply', (apply, _, partition, fact, ...rest) => {
      if (fact.type !== 'MakerAdmitted') apply(partition, fact, ...rest);
    }),
  },
  {
    name: 'fills of a maker that was known late are told behind newer ones',
    plant: () => {
      const watchedBy = new WeakMap<FollowedLog, WatchedSet>();
      const run = replaceIn(Work, 'run', (before, { followed, watched }: Work) => {
        watchedBy.set(followed, watched);
        return before();
      })();
      const apply = replaceIn(FollowedLog, 'apply', (before, followed: FollowedLog, partition, fact, ...rest) => {
        before(partition, fact, ...rest);
        if (fact.type === 'MakerAdmitted') watchedBy.get(followed)?.know([fact.maker]);
      })();
      return () => {
        run();
        apply();
      };
    },
  },
  {
    name: 'a new order does not read its nonce',
    plant: replaceIn(Touched, 'order', (order, touched: Touched, ...given) => {
      order(...given);
      for (const maker of touched.makers.values()) maker.nonce = false;
    }),
  },
  {
    name: 'what is read beyond the matched block is not all of a maker',
    plant: replaceIn(Touched, 'widen', () => undefined),
  },
  {
    name: 'new orders are read while a block is published',
    plant: replaceIn(Mutex, 'run', (_run, _mutex, work) => work()),
  },
  {
    name: 'a block is published before what was read at it',
    plant: replaceIn(LogInMemory, 'store', (store, _, records: readonly LogRecord[], ...rest) => {
      const sorted = records.toSorted((a, b) => Number(isBlock(b)) - Number(isBlock(a)));
      return store(sorted, ...rest);
    }),
  },
  {
    name: 'a contract that has a log is not asked about its signatures',
    plant: replaceIn(WalletAnswers, 'withLogsIn', () => []),
  },
  {
    name: 'contracts are not asked again about their signatures',
    plant: replaceIn(Touched, 'signatures', () => undefined),
  },
  {
    name: 'pairs whose reading was put off are not read in turn',
    plant: replaceIn(WatchedSet, 'noteObserved', (noteObserved, set: WatchedSet, ...given) => {
      noteObserved(...given);
      set.putOff.clear();
    }),
  },
  {
    name: 'taking tokens are not asked again for their code',
    plant: replaceIn(WatchedSet, 'takingTokens', () => []),
  },
  {
    name: 'a holder does not read the orders that the one before it has not read',
    plant: replaceIn(Work, 'publishFacts', (publishFacts, work, ...given) => {
      work.watched.unread.clear();
      return publishFacts(...given);
    }),
  },
  {
    name: 'the log is read from behind the snapshot',
    plant: replaceIn(StoreInMemory, 'projected', (projected) => {
      return projected().map((start: ProjectedPartition) => ({ ...start, nextOffset: start.nextOffset + 1n }));
    }),
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
    name: 'an order leaves the watched set when a cap withholds it',
    plant: unwatchedOn('CAPPED'),
  },
  {
    name: 'the orders of a released maker are not read again',
    plant: replaceIn(WatchedSet, 'markUnread', () => undefined),
  },
  {
    name: 'an order leaves the watched set before it expires',
    plant: replaceIn(WatchedSet, 'expire', (expire, _, nowSeconds) => expire(nowSeconds + 25)),
  },
];
