import { type Chance, createChance } from '@makerbook/parts';
import type { WorkSettings } from '../../observe/holder-work.js';
import { MAKERS } from './place-orders.js';

/** What happens in a run, moment by moment. `draw` is the seed of what is left to chance in it. */
export type Action = { readonly atMs: number } & (
  | { readonly do: 'mine'; readonly acts: readonly number[] }
  | { readonly do: 'visit'; readonly draw: number }
  /** One of the makers cannot be folded, and is released later. */
  | { readonly do: 'quarantine'; readonly maker: number; readonly forMs: number }
  /** One of the makers is suspended, or removed, and admitted again later. */
  | { readonly do: 'suspend'; readonly maker: number; readonly isRemoved: boolean; readonly forMs: number }
  /** A watcher; `draw` says how slow and faulty what it asks is. */
  | { readonly do: 'start'; readonly draw: number }
  /** Of those that run, the one that comes first after `which` of them. */
  | { readonly do: 'kill' | 'stop'; readonly which: number; readonly withinMs: number }
  | { readonly do: 'freeze'; readonly which: number; readonly forMs: number }
);

/** A run as a list of actions: it can be kept, cut and run again, also when the code draws otherwise later. */
export interface Plan {
  readonly seed: number;
  readonly partitions: number;
  readonly hasFaults: boolean;
  /** Nobody is killed, stopped or frozen, and one watcher runs. */
  readonly isSteady: boolean;
  readonly batchRecordsMax: number;
  readonly settings: WorkSettings;
  readonly actions: readonly Action[];
  /** From here on nothing happens, and nothing fails. */
  readonly quietAtMs: number;
}

/** Left out, the seed draws it. */
export interface PlanOptions {
  readonly watchers?: number | undefined;
  readonly hasKills?: boolean | undefined;
  readonly hasFaults?: boolean | undefined;
  /** In place of what is drawn. */
  readonly settings?: Partial<WorkSettings>;
}

export function planRun(seed: number, options: PlanOptions = {}): Plan {
  const chance = createChance(seed);
  const partitions = chance.pick([1, 2]);
  const drawn = { watchers: chance.pick([1, 2, 2, 3]), hasKills: !chance.oneIn(4), hasFaults: chance.oneIn(2) };
  const { watchers = drawn.watchers, hasKills = drawn.hasKills, hasFaults = drawn.hasFaults } = options;
  const settings = { ...drawSettings(chance, partitions), ...options.settings };
  const batchRecordsMax = chance.pick([500, 500, 500, 3]);
  const { actions, endMs } = planActions(chance, watchers, hasKills);
  return {
    seed,
    partitions,
    hasFaults,
    isSteady: watchers === 1 && !hasKills,
    batchRecordsMax,
    settings,
    actions,
    quietAtMs: endMs + 10_000,
  };
}

function planActions(chance: Chance, watchers: number, hasKills: boolean): { actions: Action[]; endMs: number } {
  const actions: Action[] = [{ atMs: 0, do: 'mine', acts: [] }];
  const draw = () => chance.below(2 ** 31);
  let running = 0;
  const start = (atMs: number) => {
    actions.push({ atMs, do: 'start', draw: draw() });
    running += 1;
  };
  start(0);
  const paceMs = chance.pick([1000, 1000, 250]);
  const quarantinesOneIn = chance.pick([1000, 1000, 30, 8]);
  const suspensionsOneIn = chance.pick([1000, 30, 8]);
  let atMs = 0;
  for (let left = chance.between(12, 40); left > 0; left -= 1) {
    for (let visits = chance.below(4); visits > 0; visits -= 1) {
      const afterMs = chance.oneIn(2) ? paceMs - 1 - chance.below(100) : chance.below(paceMs);
      actions.push({ atMs: atMs + afterMs, do: 'visit', draw: draw() });
    }
    const thenMs = atMs + chance.below(paceMs);
    if (running < watchers && chance.oneIn(running === 0 ? 4 : 6)) start(thenMs);
    if (hasKills && running > 0 && chance.oneIn(9)) {
      const which = chance.below(running);
      const what = chance.pick(['kill', 'stop', 'freeze'] as const);
      if (what === 'freeze') actions.push({ atMs: thenMs, do: what, which, forMs: chance.pick([900, 5000, 12_000]) });
      else actions.push({ atMs: thenMs, do: what, which, withinMs: chance.below(2000) });
      if (what !== 'freeze') running -= 1;
    }
    if (chance.oneIn(quarantinesOneIn)) {
      const maker = chance.below(MAKERS.length);
      actions.push({ atMs: thenMs, do: 'quarantine', maker, forMs: chance.pick([50, 1000, 6000, 15_000]) });
    }
    if (chance.oneIn(suspensionsOneIn)) {
      const maker = chance.below(MAKERS.length);
      const forMs = chance.pick([50, 1000, 6000, 15_000]);
      actions.push({ atMs: thenMs, do: 'suspend', maker, isRemoved: chance.oneIn(3), forMs });
    }
    atMs += chance.oneIn(20) ? 5000 : chance.oneIn(6) ? chance.below(paceMs) : paceMs;
    for (let burst = chance.oneIn(12) ? chance.between(2, 8) : 1; burst > 0; burst -= 1) {
      actions.push({ atMs, do: 'mine', acts: Array.from({ length: chance.below(5) }, draw) });
    }
  }
  return { actions: actions.toSorted((a, b) => a.atMs - b.atMs), endMs: atMs };
}

function drawSettings(chance: Chance, partitions: number): WorkSettings {
  return {
    PARTITIONS: partitions,
    STATE_BLOCKS_MAX: chance.pick([100, 100, 100, 1, 3]),
    CATCH_UP_BLOCKS_MAX: chance.pick([120, 120, 120, 3]),
    ORDER_GATHER_MS: 5,
    SWEEP_PAIRS_PER_SECOND: chance.pick([20, 2, 0]),
    TAKEOVER_MS: chance.pick([3000, 3000, 1000]),
    BLOCK_AHEAD_SECONDS_MAX: 60,
  };
}
