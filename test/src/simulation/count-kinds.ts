import { chainActions } from './act-on-chain.js';
import { faultActions } from './inject-faults.js';
import { requestActions } from './place-orders.js';
import type { SeedReport } from './simulate-seed.js';

/** In which an order may be found at a comparison, each of them often enough. */
const states = [
  'ACTIVE',
  'INSUFFICIENT_ALLOWANCE',
  'INSUFFICIENT_BALANCE',
  'ACTIVE in its last minute',
  'CANCELLED',
  'CANCELLED_ONCHAIN',
  'NONCE_CHANGED',
  'FILLED',
  'EXPIRED',
];

/** After fewer of the blocks than one in this many something was compared: then the runs prove less than they say. */
const BLOCKS_PER_COMPARED_MAX = 2;

/** Seeds that compared nothing after any block, or all of them after too few. */
export function idleSeeds(reports: readonly Pick<SeedReport, 'seed' | 'blocks' | 'blocksCompared'>[]): string[] {
  const idle = reports
    .filter(({ blocksCompared }) => blocksCompared === 0)
    .map(({ seed }) => `seed ${seed} compared no block`);
  const sum = (figure: 'blocks' | 'blocksCompared') => reports.reduce((total, report) => total + report[figure], 0);
  const [blocks, compared] = [sum('blocks'), sum('blocksCompared')];
  return compared * BLOCKS_PER_COMPARED_MAX > blocks
    ? idle
    : [...idle, `of ${blocks} blocks ${compared} were compared`];
}

/** The kinds of actions that none of the seeds did, and the states in which none found an order: then the runs prove less than they say. */
export function missingKinds(reports: readonly Pick<SeedReport, 'tally' | 'states'>[]): string[] {
  const isMissing = (of: 'tally' | 'states') => (kind: string) =>
    !reports.some((report) => (report[of][kind] ?? 0) > 0);
  return [
    ...[...chainActions, ...requestActions, ...faultActions].filter(isMissing('tally')),
    ...states.filter(isMissing('states')),
  ];
}
