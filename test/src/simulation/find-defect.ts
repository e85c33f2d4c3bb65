import { replaceMethod } from '@makerbook/parts';
import { type Plan, planRun } from './plan-run.js';
import { type RunOptions, runPlan } from './simulate-service.js';

/** A mistake that the simulation must find: one rule is left out. */
export interface Defect {
  readonly name: string;
  readonly options?: RunOptions;
  /** Leaves the rule out. Returns what puts it in again. */
  readonly plant: () => () => void;
}

/** Switches a part in memory to breaking one of its promises. */
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
 * @param by is called with the method as it was, bound, with the object, and with what the method is called with
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

/** What is wrong with the run while the defect is planted; undefined where it finds nothing. */
export async function runWithDefect({ plant, options }: Defect, plan: Plan): Promise<string | undefined> {
  const takeOut = plant();
  try {
    return (await runPlan(plan, options)).wrong[0];
  } finally {
    takeOut();
  }
}

/** The first seed that finds the defect; undefined where none does. */
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
