import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readOptions, readRange } from '@makerbook/settings';
import { cutPlan, type ListOfActions } from './cut-plan.js';

/** Runs that a seed draws. `runPlan` does the same again for the same plan. */
export interface Simulation<Plan extends ListOfActions, PlanOptions = unknown, RunOptions = unknown> {
  readonly planRun: (seed: number, options?: PlanOptions) => Plan;
  readonly runPlan: (plan: Plan, options?: RunOptions) => Promise<{ readonly wrong: readonly string[] }>;
  /** The folder of runs that were wrong once, with a planted defect or before a mistake was mended, each a list of actions. */
  readonly keptRuns: URL;
}

/** A mistake that the simulation must find: one rule is left out. */
export interface Defect<PlanOptions = unknown, RunOptions = unknown> {
  readonly name: string;
  readonly options?: RunOptions;
  /** Runs in which it shows sooner. */
  readonly plan?: PlanOptions;
  /** Leaves the rule out. Returns what puts it in again. */
  readonly plant: () => () => void;
}

/** Replaces a method. Returns what puts the old one back. */
export function replaceMethod<T extends object, K extends keyof T>(
  owner: T,
  method: K,
  by: (before: T[K]) => T[K],
): () => void {
  const before = owner[method];
  owner[method] = by(before);
  return () => {
    owner[method] = before;
  };
}

/** Switches a part in memory to breaking one of its promises; plants that as a defect. */
export function breakPromise<Part extends object>(part: Part, promise: keyof Part): Defect['plant'] {
  return () => {
    Object.assign(part, { [promise]: true });
    return () => void Object.assign(part, { [promise]: false });
  };
}

export function readKeptRuns<Plan extends ListOfActions, PlanOptions, RunOptions>({
  keptRuns,
}: Simulation<Plan, PlanOptions, RunOptions>): readonly { readonly file: string; readonly plan: Plan }[] {
  const files = readdirSync(keptRuns).filter((name) => name.endsWith('.json'));
  return files.map((file) => ({ file, plan: JSON.parse(readFileSync(new URL(file, keptRuns), 'utf8')) as Plan }));
}

/** The file of the run that finds a defect. */
export function keptRunOf({ name }: Pick<Defect, 'name'>): string {
  return `${name.replaceAll(/[^a-z]+/g, '-')}.json`;
}

/** What is wrong with the run while the defect is planted; undefined where it finds nothing. */
export async function runWithDefect<Plan extends ListOfActions, PlanOptions, RunOptions>(
  { runPlan }: Simulation<Plan, PlanOptions, RunOptions>,
  { plant, options }: Defect<PlanOptions, RunOptions>,
  plan: Plan,
): Promise<string | undefined> {
  const takeOut = plant();
  try {
    return (await runPlan(plan, options)).wrong[0];
  } finally {
    takeOut();
  }
}

/** The first seed that finds the defect, without the actions that it does not need; undefined where none does. */
export async function findDefect<Plan extends ListOfActions, PlanOptions, RunOptions>(
  simulation: Simulation<Plan, PlanOptions, RunOptions>,
  defect: Defect<PlanOptions, RunOptions>,
  seeds: Iterable<number>,
): Promise<{ readonly plan: Plan; readonly wrong: string } | undefined> {
  for (const seed of seeds) {
    const plan = simulation.planRun(seed, defect.plan);
    const wrong = await runWithDefect(simulation, defect, plan);
    if (wrong === undefined) continue;
    const fails = async (cut: Plan) => (await runWithDefect(simulation, defect, cut)) !== undefined;
    return { plan: await cutPlan(plan, fails), wrong };
  }
  return undefined;
}

/** A command: plants each defect and looks for a seed that finds it. Exits with 1 when one is not found. */
export async function runDefects<Plan extends ListOfActions, PlanOptions, RunOptions>(
  command: string,
  simulation: Simulation<Plan, PlanOptions, RunOptions>,
  defects: readonly Defect<PlanOptions, RunOptions>[],
): Promise<void> {
  const usage = `npm run ${command} -- [--seeds A..B] [--name TEXT] [--keep]
  --seeds: 1..500 if not given; --name: only defects with this text in their names; --keep: writes the actions of the run
  that found it to kept-runs/, where the tests run it again`;
  const { values } = readOptions(usage, {
    seeds: { type: 'string', default: '1..500' },
    name: { type: 'string', default: '' },
    keep: { type: 'boolean', default: false },
  });
  for (const defect of defects.filter(({ name }) => name.includes(values.name))) {
    const found = await findDefect(simulation, defect, readRange(usage, '--seeds', values.seeds));
    if (found === undefined) process.exitCode = 1;
    const line = found === undefined ? `not found in ${values.seeds}` : `seed ${found.plan.seed}: ${found.wrong}`;
    console.log(`${defect.name}\n  ${line.slice(0, 180)}`);
    if (found === undefined || !values.keep) continue;
    writeFileSync(new URL(keptRunOf(defect), simulation.keptRuns), `${JSON.stringify(found.plan, null, 1)}\n`);
  }
}
