import { decodeMakerEvent, type MakerEvent } from '@makerbook/contracts-events';
import type { LogRecord } from '@makerbook/kafka';
import { LogInMemory } from '@makerbook/kafka/testing';
import { type Defect, replaceMethod, type Simulation } from '@makerbook/parts';
import { Mutex } from '../../mutex.js';
import { ReadingBlocks } from '../../observe/choose-block.js';
import { staysWatched } from '../../watch/follow-book.js';
import { FollowedLog } from '../../watch/follow-log.js';
import { Touched } from '../../watch/match-logs.js';
import { WatchedSet } from '../../watch/watched-set.js';
import { Work } from '../../work.js';
import { type Plan, type PlanOptions, planRun } from './plan-run.js';
import { Projector } from './project-log.js';
import { type RunOptions, runPlan } from './simulate-watchers.js';

export const watchers: Simulation<Plan, PlanOptions, RunOptions> = {
  planRun,
  runPlan: (plan, options) => runPlan(plan, { checksOrder: false, ...options }),
  keptRuns: new URL('../../../kept-runs/', import.meta.url),
};

/** Private members of a class, by their names. */
// biome-ignore lint/suspicious/noExplicitAny: the rule to leave out is behind a private name.
const insides = (type: { readonly prototype: unknown }): any => type.prototype;

function factOf(record: LogRecord): MakerEvent {
  const fact = decodeMakerEvent(record);
  if ('unreadable' in fact) throw new Error(fact.unreadable);
  return fact;
}

/** Switches the log to breaking one of its promises. */
function broken(promise: 'raisesNoEpoch' | 'ignoresFence'): () => () => void {
  return () => {
    LogInMemory[promise] = true;
    return () => {
      LogInMemory[promise] = false;
    };
  };
}

export const defects: readonly Defect<PlanOptions, RunOptions>[] = [
  {
    name: 'an epoch that is not raised',
    plan: { watchers: 3, hasKills: true },
    plant: broken('raisesNoEpoch'),
  },
  { name: 'a fenced holder publishes', plan: { watchers: 3, hasKills: true }, plant: broken('ignoresFence') },
  {
    name: 'a holder does not read what earlier ones have published',
    plan: { watchers: 3, hasKills: true, settings: { TAKEOVER_MS: 100 } },
    plant: () => replaceMethod(insides(Work), 'readToEnd', () => () => Promise.resolve()),
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
    name: 'readings go back to older blocks',
    plan: { watchers: 2, hasKills: true, hasFaults: true, settings: { CATCH_UP_BLOCKS_MAX: 3 } },
    plant: () => replaceMethod(ReadingBlocks.prototype, 'choose', () => (matched) => Promise.resolve(matched)),
  },
  {
    name: 'what is read beyond the matched block is not all of a maker',
    plant: () => replaceMethod(Touched.prototype, 'widen', () => () => undefined),
  },
  {
    name: 'new orders are read while a block is published',
    options: { checksOrder: true },
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
            const isBlock = (record: LogRecord) => record.value !== null && factOf(record).type === 'BlockProcessed';
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
    plant: () =>
      replaceMethod(
        Projector.prototype,
        'snapshot',
        (snapshot) =>
          function (this: Projector, onOrders) {
            return snapshot.call(this, onOrders).map((start) => ({ ...start, nextOffset: start.nextOffset + 1n }));
          },
      ),
  },
  {
    name: 'an order leaves the watched set when its maker cannot be folded',
    plan: { watchers: 3, hasKills: true },
    plant: () => {
      staysWatched.delete('QUARANTINED');
      return () => {
        staysWatched.add('QUARANTINED');
      };
    },
  },
  {
    name: 'an order leaves the watched set when its maker is suspended',
    plant: () => {
      staysWatched.delete('SUSPENDED');
      return () => {
        staysWatched.add('SUSPENDED');
      };
    },
  },
  {
    name: 'the orders of a released maker are not read again',
    plant: () => replaceMethod(WatchedSet.prototype, 'markUnread', () => () => undefined),
  },
  {
    name: 'what was posted while its maker could not be folded is unknown to a watcher that starts then',
    plan: { watchers: 3, hasKills: true },
    plant: () =>
      replaceMethod(
        Projector.prototype,
        'snapshot',
        (snapshot) =>
          function (this: Projector, onOrders) {
            return snapshot.call(this, onOrders).map((start) => ({ ...start, quarantined: new Map() }));
          },
      ),
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
  {
    name: 'a take-over goes on at the newest block of any partition',
    plant: () =>
      replaceMethod(
        FollowedLog.prototype,
        'oldestBlock',
        () =>
          function (this: FollowedLog) {
            return this.newestBlock();
          },
      ),
  },
];
