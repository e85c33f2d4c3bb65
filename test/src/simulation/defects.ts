import type { MakerFact } from '@makerbook/contracts-events';
import { MakerDraft } from '@makerbook/domain';
import { LogInMemory } from '@makerbook/kafka/testing';
import { replaceMethod } from '@makerbook/parts';
import { RowsInMemory } from '@makerbook/projector/testing';
import { breakPromise, type Defect } from './find-defect.js';
import { PlacementsInMemory } from './hold-placements.js';
import { StoreInMemory } from './hold-store.js';
import { projectorDefects } from './projector-defects.js';
import { watcherDefects } from './watcher-defects.js';

export const defects: readonly Defect[] = [
  ...watcherDefects,
  ...projectorDefects,
  { name: 'the position is committed before the rows', plant: breakPromise(RowsInMemory, 'splitsCommits') },
  { name: 'an earlier owner publishes', plant: breakPromise(LogInMemory, 'ignoresFence') },
  { name: 'a look-up that answered unknown leaves no note', plant: breakPromise(PlacementsInMemory, 'ignoresNotes') },
  {
    name: 'requests are decided before the rows can be trusted',
    plant: breakPromise(PlacementsInMemory, 'ignoresTrust'),
  },
  { name: 'an order in flight leaves no row', plant: breakPromise(PlacementsInMemory, 'forgetsPlacements') },
  { name: 'an order is replaced twice', plant: breakPromise(PlacementsInMemory, 'replacesTwice') },
  { name: 'an order whose nonce has passed is placed', plant: breakPromise(PlacementsInMemory, 'ignoresNonces') },
  {
    name: 'a cancel is marked and never appended',
    plant: () => {
      LogInMemory.losesType = 'OrderCancelled';
      return () => {
        LogInMemory.losesType = undefined;
      };
    },
  },
  { name: 'an order that has left stays in a list in memory', plant: breakPromise(StoreInMemory, 'hidesRemovals') },
  { name: 'a pending row is removed too early', plant: breakPromise(RowsInMemory, 'forgetsTooEarly') },
  {
    name: 'an order that comes after its maker has cancelled all is open',
    plant: () =>
      replaceMethod(
        MakerDraft.prototype,
        'isCutOff',
        (isCutOff) =>
          function (this: MakerDraft, order, clock) {
            const isNew = !('orderHash' in order);
            return !isNew && isCutOff.call(this, order, clock);
          },
      ),
  },
  {
    name: 'a switch that was signed before another replaces it',
    plant: foldBefore((draft, fact) => {
      if (fact.type === 'SwitchSet') draft.exits = { ...draft.exits, switchIssuedAtMs: 0 };
      return true;
    }),
  },
  {
    name: 'a cap is not judged',
    plant: () => replaceMethod(MakerDraft.prototype, 'withCap', () => (order) => order),
  },
  {
    name: 'orders that a cap withholds come back early',
    plant: () =>
      replaceMethod(
        MakerDraft.prototype,
        'setExits',
        (setExits) =>
          function (this: MakerDraft, exits) {
            const caps = exits.caps.map((cap) => {
              const isNew =
                cap.untilSeconds > 0 && !this.exits.caps.some((each) => each.untilSeconds === cap.untilSeconds);
              return isNew ? { ...cap, untilSeconds: cap.untilSeconds - 1 } : cap;
            });
            setExits.call(this, { ...exits, caps });
          },
      ),
  },
  {
    name: 'a new order is in the book though a cap withholds its token',
    plant: () =>
      replaceMethod(
        MakerDraft.prototype,
        'add',
        (add) =>
          function (this: MakerDraft, order) {
            return add.call(this, order.cappedUntil > 0 ? { ...order, cappedUntil: 0, inBook: true } : order);
          },
      ),
  },
  {
    name: 'a cap that was signed before another replaces it',
    plant: foldBefore((draft, fact) => {
      if (fact.type !== 'FillCapSet') return true;
      const caps = draft.exits.caps.map((cap) => ({ ...cap, issuedAtMs: 0 }));
      draft.exits = { ...draft.exits, caps };
      return true;
    }),
  },
  {
    name: 'a cancellation before its order is forgotten',
    plant: foldBefore(({ orders }, fact) => fact.type !== 'OrderCancelled' || orders.has(fact.orderHash)),
  },
];

/** @param before runs ahead of the fold of each fact; false leaves the fact out */
function foldBefore(before: (draft: MakerDraft, fact: MakerFact) => boolean): Defect['plant'] {
  return () =>
    replaceMethod(
      MakerDraft.prototype,
      'apply',
      (apply) =>
        function (this: MakerDraft, fact, ...rest) {
          return before(this, fact) ? apply.call(this, fact, ...rest) : [];
        },
    );
}
