import { type Calm, createChance, Draws } from '@makerbook/parts';
import type { Plan } from '../plan-run.js';

/** The faults that the requests of one process may meet. */
export interface Faults {
  /** How long a request or an answer is on its way, in milliseconds. */
  nodeMs(): number;
  /** How many blocks the asked node lags behind. */
  lagBlocks(): number;
  isNodeAway(): boolean;
  /** Whether reading a token that burns gas costs too much now. */
  isPutOff(): boolean;
  /** A share from 0 to 1. */
  random(): number;
}

export function drawFaults(
  seed: number,
  nowMs: () => number,
  calm: Calm,
  { hasFaults, hasCostly = false }: Pick<Plan, 'hasFaults' | 'hasCostly'>,
): Faults {
  const draws = new Draws(seed);
  const first = createChance(seed);
  const paceMs = first.pick([4, 60, 60, 400, 1500] as const);
  const lag = first.pick([0, 0, 0, 1, 2, 4] as const);
  const at = (what: string) => draws.at(nowMs(), what);
  let awayUntilMs = 0;
  return {
    nodeMs: () => {
      const chance = at('node');
      if (calm.isCalm) return 1 + chance.below(4);
      return chance.below(chance.oneIn(12) ? 2500 : paceMs);
    },
    lagBlocks: () => (calm.isCalm || !hasFaults || at('lags').oneIn(3) ? 0 : at('lag').below(lag + 1)),
    random: () => at('random').below(1000) / 1000,
    isPutOff: () => hasCostly && !calm.isCalm && at('burns').oneIn(2),
    isNodeAway: () => {
      if (calm.isCalm || !hasFaults) return false;
      if (at('goes').oneIn(150)) awayUntilMs = nowMs() + at('away').between(500, 8000);
      return nowMs() < awayUntilMs || at('fails').oneIn(40);
    },
  };
}
