import { replaceMethod } from '@makerbook/parts';
import { type Plan, planRun } from './plan-run.js';
import { type RunOptions, runPlan } from './simulate-service.js';

/** A mistake that the simulation must find: one rule is left out. */
export interface Defect {
  readonly name: string;
  readonly options?: RunOptions;
  /** Leaves the rule out. Returns a function that puts it back. */
  readonly plant: () => () => void;
}

/** Makes a part in memory break one of its promises. */
export function breakPromise<Part extends object>(part: Part, promise: keyof Part): Defect['plant'] {
  return () => {
    Object.assign(part, { [promise]: true });
    return () => void Object.assign(part, { [promise]: false });
  };
}

// biome-ignore lint/suspicious/noExplicitAny: the rule to leave out may be behind a private name.
type Any = any;

/**
 * Replaces a method of a class.
 * @param by called with the original method (bound), the object, and the arguments of the call
 */
export function replaceIn(
  type: { readonly prototype: object },
  method: string,
  by: (before: (...given: Any[]) => Any, self: Any, ...given: Any[]) => unknown,
): Defect['plant'] {
  const prototype = type.prototype as Any;
  if (typeof prototype[method] !== 'function') throw new Error(`there is no ${method} to plant a defect in`);
  return () =>
    replaceMethod(prototype, method, (before) => {
      return function (this: unknown, ...given: unknown[]) {
        return by(before.bind(this), this, ...given);
      };
    });
}

/** Runs the plan with the defect planted. Returns the first fault found, undefined if there is none. */
export async function runWithDefect({ plant, options }: Defect, plan: Plan): Promise<string | undefined> {
  const takeOut = plant();
  try {
    return (await runPlan(plan, options)).wrong[0];
  } finally {
    takeOut();
  }
}

/** The plan of the first seed that finds the defect, and the fault. Undefined if no seed finds it. */
export async function findDefect(
  defect: Defect,
  seeds: Iterable<number>,
): Promise<{ readonly plan: Plan; readonly wrong: string } | undefined> {
  for (const seed of seeds) {
    const plan = planRun(seed);
    const wrong = await runWithDefect(defect, plan);
    if (wrong !== undefined) return { plan, wrong };
  }
  return undefined;
}
