import type { Budget } from '@makerbook/domain';
import { type Chance, createChance } from '@makerbook/parts';

export type Kind = (typeof kinds)[number] | 'feed';

/** One event of a run. `draw` is the seed of its random choices. */
export type Action = { readonly atMs: number } & (
  | { readonly do: 'mine'; readonly acts: readonly number[] }
  /** A maker sends a request. */
  | { readonly do: 'visit'; readonly draw: number }
  /** A router reads the book over HTTP. */
  | { readonly do: 'ask'; readonly draw: number }
  /** A router resumes the stream of a feed at another process, or starts over. */
  | { readonly do: 'follow'; readonly draw: number }
  /** A maker posts orders of one token, and caps it. */
  | { readonly do: 'cap'; readonly maker: number; readonly draw: number }
  /** An order is filled with the next block. */
  | { readonly do: 'fill'; readonly draw: number }
  /** A maker replaces orders, perhaps one that is filled in part. */
  | { readonly do: 'replace'; readonly draw: number }
  /** A new order is filled on the chain before it is posted, or after it was cancelled. */
  | { readonly do: 'late'; readonly draw: number }
  /** One of the makers cannot be folded, and is released later. */
  | { readonly do: 'quarantine'; readonly maker: number; readonly forMs: number }
  | { readonly do: 'suspend'; readonly maker: number; readonly isRemoved: boolean; readonly forMs: number }
  /** The log gets a message that nobody can read, in the maker's partition. */
  | { readonly do: 'garble'; readonly maker: number }
  /** The log gets one of the last facts that makers asked for again, once or `times` times. */
  | { readonly do: 'repeat'; readonly draw: number; readonly times?: number }
  /** A process starts. `draw` says how slow and faulty its requests are. */
  | { readonly do: 'start'; readonly kind: Kind; readonly draw: number }
  /** Harms one of the running processes. `which` is its index, modulo their number. */
  | { readonly do: 'kill' | 'stop'; readonly kind: Kind; readonly which: number; readonly withinMs: number }
  | { readonly do: 'freeze'; readonly kind: Kind; readonly which: number; readonly forMs: number }
  /** Redis or Postgres answers nobody. */
  | { readonly do: 'outage'; readonly of: 'cache' | 'rows'; readonly forMs: number }
  | { readonly do: 'flush' }
  /** Postgres is killed and started again. It loses its unlogged tables and the commits of the last `lostMs`. */
  | { readonly do: 'crash'; readonly lostMs: number }
  /** Hashes that may be forgotten are deleted. */
  | { readonly do: 'prune' }
);

/** A run as a list of actions. It can be kept, cut and run again, even if the code draws otherwise later. */
export interface Plan {
  readonly seed: number;
  readonly partitions: number;
  readonly hasFaults: boolean;
  /** Watchers have topics and announcements beside JSON-RPC. */
  readonly hasSources?: boolean;
  /** Some readings are put off as too costly, and some orders take a token that has no code at first. */
  readonly hasCostly?: boolean;
  /** False if Redis is missing from the start. */
  readonly hasCache: boolean;
  readonly openOrdersMax: number;
  /** Each maker's budget of orders. If left out, nobody can use it up, and all processes have the same clock. */
  readonly budget?: Budget | undefined;
  readonly projector: {
    readonly commitTransitionsMax: number;
    readonly commitFactsMax: number;
    readonly heldMax: number;
    readonly batchFactsMax: number;
  };
  readonly watcher: {
    readonly STATE_BLOCKS_MAX: number;
    readonly CATCH_UP_BLOCKS_MAX: number;
    readonly SWEEP_PAIRS_PER_SECOND: number;
    readonly TAKEOVER_MS: number;
  };
  /** Records of one record batch in the log. What watchers publish of a block may be stored in part. */
  readonly batchRecordsMax: number;
  /** When each maker is admitted. At the start if left out. */
  readonly admittedAtMs?: readonly number[];
  readonly actions: readonly Action[];
  /** Nothing happens and nothing fails from here on. */
  readonly quietAtMs: number;
}

/** The seed draws each option that is left out. */
export interface PlanOptions {
  readonly hasFaults?: boolean | undefined;
  readonly hasCrashes?: boolean | undefined;
  readonly hasKills?: boolean | undefined;
}

export const MAKERS = 3;
const kinds = ['ingress', 'query', 'projector', 'watcher'] as const;

export function planRun(seed: number, options: PlanOptions = {}): Plan {
  const chance = createChance(seed);
  const drawn = { hasFaults: chance.oneIn(2), hasCrashes: chance.oneIn(2), hasKills: !chance.oneIn(4) };
  const { hasFaults = drawn.hasFaults, hasCrashes = drawn.hasCrashes, hasKills = drawn.hasKills } = options;
  const cache = chance.pick(['kept', 'kept', 'flushed', 'missing'] as const);
  const partitions = chance.pick([1, 2]);
  const settings = {
    openOrdersMax: chance.pick([2, 4, 100]),
    projector: {
      commitTransitionsMax: chance.pick([1, 4, 20, 1_000]),
      commitFactsMax: chance.pick([1, 10, 1_000]),
      heldMax: chance.pick([8, 3, 1_000]),
      batchFactsMax: chance.pick([3, 20]),
    },
    watcher: {
      STATE_BLOCKS_MAX: chance.pick([100, 100, 1, 3]),
      CATCH_UP_BLOCKS_MAX: chance.pick([120, 120, 3]),
      SWEEP_PAIRS_PER_SECOND: chance.pick([20, 2, 0]),
      TAKEOVER_MS: chance.pick([3000, 3000, 1000]),
    },
  };
  const { actions, endMs } = new Planner(chance, {
    hasFaults,
    hasCrashes,
    hasKills,
    isFlushed: cache === 'flushed',
  }).plan();
  const batchRecordsMax = chance.pick([500, 500, 3]);
  const others = [...planCaps(chance, endMs), ...planLate(chance, endMs), ...planRouters(seed, endMs, hasKills)];
  const lastAtMs = chance.oneIn(2) ? 0 : chance.below(endMs);
  const hasSources = chance.oneIn(2);
  const budget = chance.oneIn(2)
    ? undefined
    : { ratePerSecond: chance.pick([1, 2, 5]), burst: chance.pick([3, 5, 10]) };
  return {
    seed,
    partitions,
    hasFaults,
    hasCache: cache !== 'missing',
    ...settings,
    batchRecordsMax,
    admittedAtMs: [0, 0, lastAtMs].slice(-MAKERS),
    actions: [...actions, ...others].toSorted((a, b) => a.atMs - b.atMs),
    hasSources,
    ...(budget && { budget }),
    hasCostly: seed % 2 === 0,
    quietAtMs: endMs + 10_000,
  };
}

/** In every other run makers cap their fills, many orders are filled, and makers replace some of them. */
function planCaps(chance: Chance, endMs: number): Action[] {
  if (chance.oneIn(2)) return [];
  const draw = () => ({ atMs: chance.below(endMs), draw: chance.below(2 ** 31) });
  return [
    ...Array.from({ length: 4 }, (): Action => ({ ...draw(), do: 'cap', maker: chance.below(MAKERS) })),
    ...Array.from({ length: 40 }, (): Action => ({ ...draw(), do: 'fill' })),
    ...Array.from({ length: 8 }, (): Action => ({ ...draw(), do: 'replace' })),
  ];
}

/** In every other run orders are filled while they are not open, and brokers store records more than once. */
function planLate(chance: Chance, endMs: number): Action[] {
  if (chance.oneIn(2)) return [];
  const draw = () => ({ atMs: chance.below(endMs), draw: chance.below(2 ** 31) });
  return [
    ...Array.from({ length: 10 }, (): Action => ({ ...draw(), do: 'late' })),
    ...Array.from({ length: 10 }, (): Action => ({ ...draw(), do: 'repeat', times: chance.between(1, 3) })),
  ];
}

/** In every third run routers ask and follow feed, and feed may restart. Drawn apart, so other actions stay. */
function planRouters(seed: number, endMs: number, hasKills: boolean): Action[] {
  const chance = createChance(seed ^ 0x5eed);
  if (!chance.oneIn(3)) return [];
  const draw = (atMs: number) => ({ atMs, draw: chance.below(2 ** 31) });
  const diesAtMs = chance.below(endMs);
  const crash: readonly Action[] = [
    { atMs: diesAtMs, do: chance.pick(['kill', 'stop']), kind: 'feed', which: 0, withinMs: 100 },
    { ...draw(diesAtMs + chance.below(3_000)), do: 'start', kind: 'feed' },
  ];
  const asks = Array.from({ length: 16 }, (): Action => ({ ...draw(chance.below(endMs)), do: 'ask' }));
  const starts: Action[] = [{ ...draw(0), do: 'start', kind: 'feed' }];
  const follows = Array.from({ length: 12 }, (): Action => ({ ...draw(chance.below(endMs)), do: 'follow' }));
  return [...starts, ...(hasKills ? crash : []), ...asks, ...follows];
}

interface Disturbances {
  readonly hasFaults: boolean;
  readonly hasCrashes: boolean;
  readonly hasKills: boolean;
  readonly isFlushed: boolean;
}

class Planner {
  readonly #actions: Action[] = [{ atMs: 0, do: 'mine', acts: [] }];
  readonly #chance: Chance;
  readonly #has: Disturbances;

  constructor(chance: Chance, has: Disturbances) {
    this.#chance = chance;
    this.#has = has;
  }

  plan(): { readonly actions: readonly Action[]; readonly endMs: number } {
    const chance = this.#chance;
    for (const kind of kinds) this.#start(0, kind);
    for (const kind of kinds) if (chance.oneIn(2)) this.#start(chance.below(2000), kind);
    const paceMs = chance.pick([1000, 1000, 250]);
    let atMs = 200;
    for (let left = chance.between(6, 18); left > 0; left -= 1) {
      for (let visits = chance.below(5); visits > 0; visits -= 1) {
        this.#actions.push({ atMs: atMs + chance.below(paceMs), do: 'visit', draw: this.#draw() });
      }
      this.#disturb(atMs + chance.below(paceMs));
      atMs += chance.oneIn(20) ? 5000 : chance.oneIn(6) ? chance.below(paceMs) : paceMs;
      for (let burst = chance.oneIn(12) ? chance.between(2, 5) : 1; burst > 0; burst -= 1) {
        this.#actions.push({ atMs, do: 'mine', acts: Array.from({ length: chance.below(4) }, () => this.#draw()) });
      }
    }
    return { actions: this.#actions.toSorted((a, b) => a.atMs - b.atMs), endMs: atMs };
  }

  #draw(): number {
    return this.#chance.below(2 ** 31);
  }

  #start(atMs: number, kind: Kind): void {
    this.#actions.push({ atMs, do: 'start', kind, draw: this.#draw() });
  }

  #disturb(atMs: number): void {
    const chance = this.#chance;
    const { hasFaults, hasCrashes, hasKills, isFlushed } = this.#has;
    if (hasKills && chance.oneIn(3)) this.#harm(atMs, chance.pick(kinds));
    if (hasFaults && chance.oneIn(10)) {
      this.#actions.push({ atMs, do: 'outage', of: chance.pick(['cache', 'rows']), forMs: chance.pick([300, 6_000]) });
    }
    if (isFlushed && chance.oneIn(3)) this.#actions.push({ atMs, do: 'flush' });
    if (hasCrashes && chance.oneIn(6))
      this.#actions.push({ atMs, do: 'crash', lostMs: chance.pick([0, 20, 200, 600]) });
    if (chance.oneIn(8)) this.#actions.push({ atMs, do: 'prune' });
    const maker = chance.below(MAKERS);
    const forMs = chance.pick([50, 1000, 6000, 15_000]);
    if (chance.oneIn(14)) this.#actions.push({ atMs, do: 'quarantine', maker, forMs });
    if (chance.oneIn(20)) this.#actions.push({ atMs, do: 'suspend', maker, isRemoved: chance.oneIn(3), forMs });
    if (chance.oneIn(30)) this.#actions.push({ atMs, do: 'garble', maker });
    if (chance.oneIn(6)) this.#actions.push({ atMs, do: 'repeat', draw: this.#draw() });
  }

  #harm(atMs: number, kind: Kind): void {
    const chance = this.#chance;
    const which = chance.below(2);
    const what = chance.pick(['kill', 'kill', 'stop', 'freeze'] as const);
    if (what === 'freeze') {
      this.#actions.push({ atMs, do: what, kind, which, forMs: chance.pick([900, 5000, 12_000]) });
      return;
    }
    this.#actions.push({ atMs, do: what, kind, which, withinMs: chance.below(2000) });
    this.#start(atMs + chance.below(4000), kind);
  }
}
