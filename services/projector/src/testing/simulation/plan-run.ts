import type { MakerEvent } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { type Chance, createChance } from '@makerbook/parts';
import type { ProjectorParts } from '../../own/project-log.js';
import { testPartition, testPartitions } from '../create-test-projector.js';
import { FactSource, makersOf } from '../generate-facts.js';

/** What happens in a run, moment by moment. `draw` is the seed of what is left to chance in it. */
export type Action = {
  readonly atMs: number;
} /** A process that takes the partition; `draw` says how slow and faulty what it asks is. */ & (
  | { readonly do: 'start'; readonly draw: number }
  /**
   * A fact; undefined: a message that nobody can read. `gap`: an offset before it is a control record's. Ingress has written
   * what it has in flight so long before, and its append has certainly ended so long after.
   */
  | {
      readonly do: 'append';
      readonly fact: MakerEvent | undefined;
      readonly gap: boolean;
      readonly beforeMs: number;
      readonly endedMs: number;
    }
  /** Ingress has written an order that it never appends. */
  | { readonly do: 'place'; readonly maker: Hex; readonly number: number; readonly endedMs: number }
  /** Hashes that may be forgotten are deleted. */
  | { readonly do: 'prune' }
  /** Of the processes that run, the one that comes first after `which` of them. */
  | { readonly do: 'kill' | 'stop'; readonly which: number }
  | { readonly do: 'freeze'; readonly which: number; readonly forMs: number }
  /** The rows are copied; or the server is started again with the copy, or with nothing: it has lost what was committed since. */
  | { readonly do: 'back up' | 'restore' | 'empty' }
  /** Postgres answers nobody. */
  | { readonly do: 'outage'; readonly forMs: number }
);

type Settings = Pick<ProjectorParts, 'commitTransitionsMax' | 'commitFactsMax' | 'heldMax' | 'batchFactsMax'>;

/** A run as a list of actions: it can be kept, cut and run again, also when the code draws otherwise later. */
export interface Plan {
  readonly seed: number;
  readonly hasFaults: boolean;
  readonly settings: Settings;
  readonly actions: readonly Action[];
}

/** Left out, the seed draws it. */
export interface PlanOptions {
  readonly hasFaults?: boolean | undefined;
  readonly hasOlderRows?: boolean | undefined;
  /** In place of what is drawn. */
  readonly settings?: Partial<Settings>;
}

export function planRun(seed: number, options: PlanOptions = {}): Plan {
  const chance = createChance(seed);
  const drawn = { hasFaults: chance.oneIn(2), hasOlderRows: chance.oneIn(3) };
  const { hasFaults = drawn.hasFaults, hasOlderRows = drawn.hasOlderRows } = options;
  const settings: Settings = {
    commitTransitionsMax: chance.pick([1, 4, 20, 1_000]),
    commitFactsMax: chance.pick([1, 10, 1_000]),
    heldMax: chance.pick([0, 3, 10, 1_000]),
    batchFactsMax: chance.pick([3, 20]),
    ...options.settings,
  };
  const makers = makersOf(testPartition, testPartitions, chance.between(1, 4));
  const facts = new FactSource(chance, makers, { orders: chance.pick([4, 8]), hasUnfoldable: true });
  const disturbances: ((chance: Chance) => Action['do'])[] = [
    ({ pick }) => pick(['kill', 'kill', 'stop', 'start', 'start', 'freeze'] as const),
    ({ pick }) => pick(['place', 'prune'] as const),
    ...(hasFaults ? [() => 'outage' as const] : []),
    ...(hasOlderRows ? [({ pick }: Chance) => pick(['back up', 'restore', 'restore', 'empty'] as const)] : []),
  ];
  const actions: Action[] = [{ atMs: 0, do: 'start', draw: chance.below(2 ** 31) }];
  const paceMs = chance.pick([1, 20, 100]);
  let atMs = 0;
  for (let left = chance.between(20, 90); left > 0; left -= 1) {
    atMs += chance.oneIn(4) ? chance.below(20 * paceMs) : chance.below(paceMs);
    const fact = chance.oneIn(40) ? undefined : facts.next();
    const inFlight = { beforeMs: chance.below(3_000), endedMs: endedMs(chance) };
    actions.push({ atMs, do: 'append', fact, gap: chance.oneIn(8), ...inFlight });
    if (!chance.oneIn(6)) continue;
    const what = (chance.pickAny(disturbances) ?? (() => 'kill'))(chance);
    actions.push(disturb(what, atMs + chance.below(paceMs), chance, makers));
    if (what === 'kill' || what === 'stop') {
      actions.push({ atMs: atMs + chance.below(5 * paceMs), do: 'start', draw: chance.below(2 ** 31) });
    }
  }
  return { seed, hasFaults, settings, actions: actions.toSorted((a, b) => a.atMs - b.atMs) };
}

function disturb(what: Action['do'], atMs: number, chance: Chance, makers: readonly Hex[]): Action {
  switch (what) {
    case 'kill':
    case 'stop':
      return { atMs, do: what, which: chance.below(3) };
    case 'freeze':
      return { atMs, do: what, which: chance.below(3), forMs: chance.pick([20, 500, 5_000]) };
    case 'outage':
      return { atMs, do: what, forMs: chance.pick([10, 300, 6_000]) };
    case 'place':
      return { atMs, do: what, maker: chance.pickAny(makers) ?? '0x', number: atMs, endedMs: endedMs(chance) };
    case 'prune':
    case 'back up':
    case 'restore':
    case 'empty':
      return { atMs, do: what };
    default:
      return { atMs, do: 'start', draw: chance.below(2 ** 31) };
  }
}

function endedMs({ pick }: Chance): number {
  return pick([1, 500, 5_000]);
}
