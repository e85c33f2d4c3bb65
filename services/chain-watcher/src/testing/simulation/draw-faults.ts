import { createChance, Draws } from '@makerbook/parts';

/** What may happen to the requests of one process. */
export interface Faults {
  /** How long a request takes until it is served, or its answer to come, in milliseconds. */
  nodeMs(): number;
  appendMs(): number;
  followMs(): number;
  /** How many blocks the node that is asked lags behind. */
  lagBlocks(): number;
  isNodeAway(): boolean;
  /** `late`: refused in time, and stored after that. */
  appendFate(): 'stored' | 'lost' | 'refused' | 'late';
  /** Whether a request that was under way when its process died was not sent yet. */
  isUnsent(): boolean;
  refusedAfterMs(): number;
}

/** From then on nothing fails, and all is quick. */
export interface Calm {
  isCalm: boolean;
}

export function drawFaults(seed: number, nowMs: () => number, calm: Calm, hasFaults: boolean): Faults {
  const draws = new Draws(seed);
  const first = createChance(seed);
  const pace = () => first.pick([4, 60, 60, 400, 1500] as const);
  const paces = { node: pace(), append: pace(), follow: pace() };
  const lag = first.pick([0, 0, 0, 1, 2, 4] as const);
  const at = (what: string) => draws.at(nowMs(), what);
  const msOf = (what: keyof typeof paces) => () => {
    const chance = at(what);
    if (calm.isCalm) return 1 + chance.below(4);
    return chance.oneIn(12) ? chance.below(2500) : chance.below(paces[what]);
  };
  let awayUntilMs = 0;
  return {
    nodeMs: msOf('node'),
    appendMs: msOf('append'),
    followMs: msOf('follow'),
    lagBlocks: () => (calm.isCalm || !hasFaults || at('lags').oneIn(3) ? 0 : at('lag').below(lag + 1)),
    isNodeAway: () => {
      if (calm.isCalm || !hasFaults) return false;
      if (at('goes').oneIn(150)) awayUntilMs = nowMs() + at('away').between(500, 8000);
      return nowMs() < awayUntilMs || at('fails').oneIn(40);
    },
    appendFate: () => {
      if (calm.isCalm || !hasFaults || !at('append fails').oneIn(25)) return 'stored';
      return at('fate').pick(['lost', 'refused', 'late'] as const);
    },
    isUnsent: () => at('unsent').oneIn(2),
    refusedAfterMs: () => at('refused').below(APPEND_TIMEOUT_MS),
  };
}

export const APPEND_TIMEOUT_MS = 5000;
