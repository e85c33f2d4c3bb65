import { decodeMakerEvent, type MakerEvent } from '@makerbook/contracts-events';
import type { LogRecord } from '@makerbook/kafka';
import { Mutex } from '../../mutex.js';
import { ReadingBlocks } from '../../observe/choose-block.js';
import { staysWatched } from '../../watch/follow-book.js';
import { FollowedLog } from '../../watch/follow-log.js';
import { Touched } from '../../watch/match-logs.js';
import { WatchedSet } from '../../watch/watched-set.js';
import { Work } from '../../work.js';
import { HeldLog } from './hold-log.js';
import type { PlanOptions } from './plan-run.js';
import { Projector } from './project-log.js';
import type { RunOptions } from './simulate-watchers.js';

/** A mistake that the simulation must find: one rule of the watcher, or of the fold, is left out. */
export interface Defect {
  readonly name: string;
  readonly options?: RunOptions;
  /** Runs in which it shows sooner. */
  readonly plan?: PlanOptions;
  /** Leaves the rule out. Returns what puts it in again. */
  readonly plant: () => () => void;
}

/** Replaces a method. Returns what puts the old one back. */
function replace<T extends object, K extends keyof T>(owner: T, method: K, by: (before: T[K]) => T[K]): () => void {
  const before = owner[method];
  owner[method] = by(before);
  return () => {
    owner[method] = before;
  };
}

/** Private members of a class, by their names. */
// biome-ignore lint/suspicious/noExplicitAny: the rule to leave out is behind a private name.
const insides = (type: { readonly prototype: unknown }): any => type.prototype;

function factOf(record: LogRecord): MakerEvent {
  const fact = decodeMakerEvent(record);
  if ('unreadable' in fact) throw new Error(fact.unreadable);
  return fact;
}

export const defects: readonly Defect[] = [
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
      replace(
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
      replace(
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
    plant: () => replace(ReadingBlocks.prototype, 'choose', () => (matched) => Promise.resolve(matched)),
  },
  {
    name: 'what is read beyond the matched block is not all of a maker',
    plant: () => replace(Touched.prototype, 'widen', () => () => undefined),
  },
  {
    name: 'new orders are read while a block is published',
    options: { checksOrder: true },
    plant: () => replace(Mutex.prototype, 'run', () => (work) => work()),
  },
  {
    name: 'a block is published before what was read at it',
    plant: () =>
      replace(
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
      replace(
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
      replace(
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
    name: 'the orders of a released maker are not read again',
    plant: () => replace(WatchedSet.prototype, 'markUnread', () => () => undefined),
  },
  {
    name: 'what was posted while its maker could not be folded is unknown to a watcher that starts then',
    plan: { watchers: 3, hasKills: true },
    plant: () =>
      replace(
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
      replace(
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
      replace(
        FollowedLog.prototype,
        'oldestBlock',
        () =>
          function (this: FollowedLog) {
            return this.newestBlock();
          },
      ),
  },
];
