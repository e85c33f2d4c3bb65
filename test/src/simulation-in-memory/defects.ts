import { MakerDraft } from '@makerbook/domain';
import { LogInMemory } from '@makerbook/kafka/testing';
import { type Defect, replaceMethod, type Simulation } from '@makerbook/parts';
import { RowsInMemory } from '@makerbook/projector/testing';
import { PlacementsInMemory } from './hold-placements.js';
import { type Plan, type PlanOptions, planRun } from './plan-run.js';
import { type RunOptions, runPlan } from './simulate-service.js';

export const service: Simulation<Plan, PlanOptions, RunOptions> = {
  planRun,
  runPlan,
  keptRuns: new URL('../../kept-runs/', import.meta.url),
};

/** Switches a part in memory to breaking one of its promises. */
function broken<Part extends object>(part: Part, promise: keyof Part): () => () => void {
  return () => {
    Object.assign(part, { [promise]: true });
    return () => void Object.assign(part, { [promise]: false });
  };
}

export const defects: readonly Defect<PlanOptions, RunOptions>[] = [
  { name: 'the position is committed before the rows', plant: broken(RowsInMemory, 'splitsCommits') },
  { name: 'an earlier owner publishes', plant: broken(LogInMemory, 'ignoresFence') },
  { name: 'a look-up that answered unknown leaves no note', plant: broken(PlacementsInMemory, 'ignoresNotes') },
  { name: 'requests are decided before the rows can be trusted', plant: broken(PlacementsInMemory, 'ignoresTrust') },
  { name: 'an order in flight leaves no row', plant: broken(PlacementsInMemory, 'forgetsPlacements') },
  {
    name: 'a cancel is marked and never appended',
    plant: () => {
      LogInMemory.losesType = 'OrderCancelled';
      return () => {
        LogInMemory.losesType = undefined;
      };
    },
  },
  { name: 'a pending row is removed too early', plant: broken(RowsInMemory, 'forgetsTooEarly') },
  {
    name: 'a cancellation before its order is forgotten',
    plant: () =>
      replaceMethod(
        MakerDraft.prototype,
        'apply',
        (apply) =>
          function (this: MakerDraft, fact, ...rest) {
            if (fact.type === 'OrderCancelled' && !this.orders.has(fact.orderHash)) return [];
            return apply.call(this, fact, ...rest);
          },
      ),
  },
];
