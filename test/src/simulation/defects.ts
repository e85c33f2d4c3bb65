import { RankedOrders } from '@makerbook/book';
import type { MakerFact } from '@makerbook/contracts-events';
import { type FillCap, MakerDraft, type Rules } from '@makerbook/domain';
import { KeptFills, RecentNews } from '@makerbook/feed/testing';
import { LogInMemory } from '@makerbook/kafka/testing';
import { RowsInMemory } from '@makerbook/projector/testing';
import { breakPromise, type Defect, replaceIn } from './find-defect.js';
import { StoreInMemory } from './hold-store.js';
import { placementDefects } from './placement-defects.js';
import { projectorDefects } from './projector-defects.js';
import { FeedVisits } from './visit-feed.js';
import { watcherDefects } from './watcher-defects.js';

export const defects: readonly Defect[] = [
  ...watcherDefects,
  ...projectorDefects,
  { name: 'the position is committed before the rows', plant: breakPromise(RowsInMemory, 'splitsCommits') },
  { name: 'an earlier owner publishes', plant: breakPromise(LogInMemory, 'ignoresFence') },
  ...placementDefects,
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
  { name: 'a list hides that its maker is in quarantine', plant: breakPromise(StoreInMemory, 'hidesQuarantine') },
  { name: 'a pending row is removed too early', plant: breakPromise(RowsInMemory, 'forgetsTooEarly') },
  {
    name: 'an order that comes after its maker has cancelled all is open',
    plant: replaceIn(MakerDraft, 'isCutOff', (isCutOff, _, order, clock) => {
      return 'orderHash' in order && isCutOff(order, clock);
    }),
  },
  {
    name: 'a switch that was signed before another replaces it',
    plant: foldBefore((draft, fact) => {
      if (fact.type === 'SwitchSet') draft.exits = { ...draft.exits, switchIssuedAtMs: 0 };
      return true;
    }),
  },
  { name: 'a cap is not judged', plant: replaceIn(MakerDraft, 'withCap', (_withCap, _draft, order) => order) },
  {
    name: 'orders that a cap withholds come back early',
    plant: replaceIn(MakerDraft, 'setExits', (setExits, draft, exits) => {
      const known = new Set(draft.exits.caps.map(({ untilSeconds }: FillCap) => untilSeconds));
      const caps = exits.caps.map((cap: FillCap) =>
        cap.untilSeconds > 0 && !known.has(cap.untilSeconds) ? { ...cap, untilSeconds: cap.untilSeconds - 1 } : cap,
      );
      setExits({ ...exits, caps });
    }),
  },
  {
    name: 'a new order is in the book though a cap withholds its token',
    plant: replaceIn(MakerDraft, 'add', (add, _draft, order) => {
      add(order.cappedUntil > 0 ? { ...order, cappedUntil: 0, inBook: true } : order);
    }),
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
    name: 'a cap does not count fills of orders that are not open',
    plant: foldOtherwise((draft, fact) => {
      if (fact.type !== 'MakerObserved') return fact;
      return { ...fact, fills: fact.fills?.filter(({ orderHash }) => draft.orders.has(orderHash)) };
    }),
  },
  {
    name: 'a cap counts a fill as often as it is told',
    plant: foldBefore((draft, fact) => {
      if (fact.type !== 'MakerObserved') return true;
      const caps = draft.exits.caps.map((cap: FillCap) => ({ ...cap, countsFrom: [0, 0] as const }));
      draft.exits = { ...draft.exits, caps };
      return true;
    }),
  },
  {
    name: 'a cap counts a fill by the time at which it was read',
    plant: foldOtherwise((_, fact) => {
      if (fact.type !== 'MakerObserved') return fact;
      return { ...fact, fills: fact.fills?.map((fill) => ({ ...fill, timestamp: fact.block.timestamp })) };
    }),
  },
  {
    name: 'a record that is stored more than once is folded as often',
    plant: replaceIn(MakerDraft, 'apply', (apply, draft, ...given) => {
      const { rules } = draft;
      const recallHash: Rules['recallHash'] = (key) => {
        const hash = rules.recallHash(key);
        return hash && { ...hash, keptUntilSeconds: 0 };
      };
      draft.rules = { ...rules, recallHash };
      try {
        return apply(...given);
      } finally {
        draft.rules = rules;
      }
    }),
  },
  {
    name: 'an order that its contract refuses counts as read',
    plant: foldBefore((_, fact) => {
      if (fact.type === 'MakerObserved') for (const order of fact.orders) if (!order.noCode) delete order.refused;
      return true;
    }),
  },
  {
    name: 'an order whose taking token has no code counts as read',
    plant: foldBefore((_, fact) => {
      if (fact.type === 'MakerObserved') for (const order of fact.orders) if (order.noCode) delete order.refused;
      return true;
    }),
  },
  {
    name: 'funds whose reading was put off stay as they were',
    plant: foldBefore((_, fact) => {
      if (fact.type === 'MakerObserved') fact.funds = fact.funds.filter(({ unread }) => !unread);
      return true;
    }),
  },
  {
    name: 'an order that has left the book stays in its ladder',
    plant: replaceIn(RankedOrders, 'apply', (apply, _, change) => change.kind === 'removed' || apply(change)),
  },
  {
    name: 'a ladder begins at its second order',
    plant: replaceIn(RankedOrders, 'executable', (executable, _, ...given) => executable(...given).drop(1)),
  },
  { name: 'a quote ignores the price of gas', plant: breakPromise(FeedVisits, 'ignoresGas') },
  {
    name: 'a stream of feed leaves out what came together behind its cursor',
    plant: replaceIn(RecentNews, 'placeOf', (placeOf, _, cursor) => ({ cursor, next: placeOf(cursor).next + 1 })),
  },
  {
    name: 'a stream of feed repeats what its router has read elsewhere',
    plant: replaceIn(RecentNews, 'eventsAt', (eventsAt, _, { next, cursor }) =>
      eventsAt({ next, cursor: cursor.map(() => undefined) }),
    ),
  },
  {
    name: 'a stream of fills begins with the process',
    plant: replaceIn(KeptFills, 'inOrder', () => []),
  },
  { name: 'a snapshot is older than its cursor', plant: breakPromise(FeedVisits, 'keepsSnapshots') },
  { name: 'a new process answers before it has read the book', plant: breakPromise(FeedVisits, 'answersUnread') },
  {
    name: 'a cancellation before its order is forgotten',
    plant: foldBefore(({ orders }, fact) => fact.type !== 'OrderCancelled' || orders.has(fact.orderHash)),
  },
];

/** @param other returns the fact to fold instead */
function foldOtherwise(other: (draft: MakerDraft, fact: MakerFact) => MakerFact): Defect['plant'] {
  return replaceIn(MakerDraft, 'apply', (apply, draft, fact, ...rest) => apply(other(draft, fact), ...rest));
}

/** @param before runs before each fact is folded. If it returns false, the fact is left out */
function foldBefore(before: (draft: MakerDraft, fact: MakerFact) => boolean): Defect['plant'] {
  return replaceIn(MakerDraft, 'apply', (apply, draft, fact, ...rest) => {
    return before(draft, fact) ? apply(fact, ...rest) : [];
  });
}
