import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const OTHER = 'the rest';

/**
 * How a process's time is spread over the steps of its work, from the newest profile (`--cpu-prof`) in the folder. A sample belongs
 * to the step of its innermost frame that is of one; those of no work do not count.
 * @param steps what a frame of each step reads like: `<function> <file>`
 * @returns shares that add up to 1, by step
 */
export function readProfile(folder: string, steps: Readonly<Record<string, RegExp>>): ReadonlyMap<string, number> {
  const newest =
    readdirSync(folder)
      .filter((name) => name.endsWith('.cpuprofile'))
      .sort()
      .at(-1) ?? '';
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(join(folder, newest), 'utf8')) as Profile;
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, `${callFrame.functionName} ${callFrame.url}`]));
  const stepOf = (id: number): string => {
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const frame = frames.get(at) ?? '';
      for (const [step, pattern] of Object.entries(steps)) if (pattern.test(frame)) return step;
    }
    return OTHER;
  };
  const stepOfNode = new Map(nodes.map(({ id }) => [id, stepOf(id)]));
  const spent = new Map([...Object.keys(steps), OTHER].map((step) => [step, 0]));
  let total = 0;
  for (const [index, id] of samples.entries()) {
    if (/^\((idle|program)\)/.test(frames.get(id) ?? '')) continue;
    const step = stepOfNode.get(id) ?? OTHER;
    spent.set(step, (spent.get(step) ?? 0) + (timeDeltas[index] ?? 0));
    total += timeDeltas[index] ?? 0;
  }
  return new Map([...spent].map(([step, time]) => [step, time / total]));
}
