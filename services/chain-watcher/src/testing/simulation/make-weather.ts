import type { Chance } from '@makerbook/local-stack';

/** What may happen to the requests of one process. */
export interface Weather {
  /** How long a request takes until it is served, or its answer to come, in milliseconds. */
  nodeMs(): number;
  appendMs(): number;
  followMs(): number;
  /** How many blocks the node that is asked lags behind. */
  lagBlocks(): number;
  isNodeAway(): boolean;
  /** `late`: refused in time, and stored after that. */
  appendFate(): 'stored' | 'lost' | 'refused' | 'late';
}

/** From then on nothing fails, and all is quick. */
export interface Season {
  isCalm: boolean;
}

/** A seed has its weather, and each process its own of that kind. */
export function makeWeather(chance: Chance, season: Season, hasFaults: boolean): Weather {
  const pace = () => chance.pick([4, 60, 60, 400, 1500] as const);
  const msOf = (scale: number) => () => {
    if (season.isCalm) return 1 + chance.below(4);
    return chance.oneIn(12) ? chance.below(2500) : chance.below(scale);
  };
  const lag = chance.pick([0, 0, 0, 1, 2, 4] as const);
  let awayUntil = 0;
  let asked = 0;
  return {
    nodeMs: msOf(pace()),
    appendMs: msOf(pace()),
    followMs: msOf(pace()),
    lagBlocks: () => (season.isCalm || !hasFaults || chance.oneIn(3) ? 0 : chance.below(lag + 1)),
    isNodeAway: () => {
      if (season.isCalm || !hasFaults) return false;
      asked += 1;
      if (chance.oneIn(150)) awayUntil = asked + chance.between(3, 12);
      return asked < awayUntil || chance.oneIn(40);
    },
    appendFate: () => {
      if (season.isCalm || !hasFaults || !chance.oneIn(25)) return 'stored';
      return chance.pick(['lost', 'refused', 'late'] as const);
    },
  };
}
