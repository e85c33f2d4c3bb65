import { decodeMakerEvent, type MakerEvent } from '@makerbook/contracts-events';
import type { LogRecord } from '@makerbook/kafka';
import { type Defect, replaceMethod, type Simulation } from '@makerbook/parts';
import { Mutex } from '../../mutex.js';
import { ReadingBlocks } from '../../observe/choose-block.js';
import { staysWatched } from '../../watch/follow-book.js';
import { FollowedLog } from '../../watch/follow-log.js';
import { Touched } from '../../watch/match-logs.js';
import { WatchedSet } from '../../watch/watched-set.js';
import { Work } from '../../work.js';
import { HeldLog } from './hold-log.js';
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

export const defects: readonly Defect<PlanOptions, RunOptions>[] = [
  { name: 'a lower term counts in the fold', options: { isFenced: false }, plant: () => () => undefined },
  {
    name: 'a block is matched before the log was read up to the term record',
    plant: () => {
      HeldLog.showsTermsAtOnce = true;
      return () => {
        HeldLog.showsTermsAtOnce = false;
      };
    },
  },
  {
    name: 'of two candidates the last one wins',
    plan: { watchers: 4, hasKills: true },
    plant: () =>
      replaceMethod(
        insides(FollowedLog),
        'apply',
        (apply) =>
          function (this: FollowedLog, partition: number, fact: MakerEvent, ...rest: unknown[]) {
            const view = this.partitions[partition];
            if (view !== undefined && fact.type === 'TermStarted' && fact.term === view.term) view.holder = fact.holder;
            return apply.call(this, partition, fact, ...rest);
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
        HeldLog.prototype,
        'store',
        (store) =>
          function (this: HeldLog, writer: string, records: readonly LogRecord[]) {
            const isBlock = (record: LogRecord) => record.value !== null && factOf(record).type === 'BlockProcessed';
            const sorted = records.toSorted((a, b) => Number(isBlock(b)) - Number(isBlock(a)));
            return store.call(this, writer, sorted);
          },
      ),
  },
  {
    name: 'a holder does not read the orders that the one before it has not read',
    plant: () =>
      replaceMethod(
        insides(Work),
        'workOnTerm',
        (workOnTerm) =>
          function (this: Work, ...given: unknown[]) {
            (this.watched.unread as Map<number, unknown>).clear();
            return workOnTerm.apply(this, given);
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
