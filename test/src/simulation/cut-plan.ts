import type { Plan } from './plan-run.js';

/** Cuts the actions that the plan does not need to fail. Tries to leave out halves, then quarters, and so on. */
export async function cutPlan(plan: Plan, fails: (plan: Plan) => Promise<boolean>): Promise<Plan> {
  let cut = plan;
  for (let size = Math.ceil(cut.actions.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < cut.actions.length; ) {
      // The first action always stays: without it there is nothing to act on.
      const actions = cut.actions.filter((_, index) => index === 0 || index < from || index >= from + size);
      const smaller = { ...cut, actions };
      if (actions.length < cut.actions.length && (await fails(smaller))) cut = smaller;
      else from += size;
    }
  }
  return cut;
}
