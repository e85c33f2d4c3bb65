import { actOnChain } from './act-on-chain.js';
import { castMakers } from './cast-makers.js';
import { type Cast, compareViews } from './compare-views.js';
import { type Chance, createChance } from './draw-chance.js';
import type { Head } from './drive-chain.js';
import type { Simulation } from './open-simulation.js';
import { type Done, type Orders, openDoor } from './place-orders.js';
import { pause } from './run-services.js';

export interface SeedOptions {
  readonly seed: number;
  /** Comparisons; between two of them lie one to three blocks, or many. */
  readonly steps: number;
}

/** What a seed did, so that nobody takes an idle run for a good one. */
export interface SeedReport {
  readonly seed: number;
  readonly actions: number;
  readonly blocks: number;
  readonly comparisons: number;
  /** Of the blocks, those after which what the router had been told was compared, also between two comparisons. */
  readonly blocksCompared: number;
  /** Each comparison of each order counts. */
  readonly ordersCompared: number;
  readonly orders: number;
  readonly restarts: number;
  /** How often each action was done. */
  readonly tally: Readonly<Record<string, number>>;
  /** How often an order was found in each state. */
  readonly states: Readonly<Record<string, number>>;
}

const TRACE_LINES = 60;
/** In every third seed two watchers run side by side. */
const TWO_WATCHERS_EVERY = 3;

/**
 * Random actions of many makers on the chain and at the service's door, in blocks of random size, while watcher and
 * projector are ended and started at random. After each step every order is compared, see `compareViews`.
 * The same seed draws the same actions; when what happens beside them is up to the processes.
 * @throws Error that names the seed and the step, with the last actions
 */
export async function simulateSeed(simulation: Simulation, { seed, steps }: SeedOptions): Promise<SeedReport> {
  const { chain, services, protocol } = simulation;
  const chance = createChance(seed);
  const trace: string[] = [];
  const tally: Record<string, number> = {};
  const states: Record<string, number> = {};
  const report = { actions: 0, blocks: 0, comparisons: 0, blocksCompared: 0, ordersCompared: 0, restarts: 0 };
  let step = 0;
  /** The watcher reads a block that is not the newest one at a newer one. */
  let readsAtHead = false;
  /** The blocks since the last comparison. */
  let made: Head[] = [];
  const note = (text: string) => {
    trace.push(`step ${step}, block ${chain.head().number}: ${text}`);
    if (trace.length > TRACE_LINES) trace.shift();
  };
  const count = ({ action, text }: Done) => {
    tally[action] = (tally[action] ?? 0) + 1;
    if (action !== 'nothing') report.actions += 1;
    note(text);
  };
  const mine = async (seconds: number) => {
    const block = await chain.mine(seconds);
    const { number, timestamp } = block;
    made.push(block);
    report.blocks += 1;
    note(`-- mined block ${number} at ${timestamp}`);
  };

  const company = await castMakers(simulation, seed, chance);
  const orders: Orders = { accepted: [], kept: [], comparedBlock: chain.head().number };
  const door = openDoor(simulation, company, orders, chance);
  const cast: Cast = {
    makers: company.makers,
    tokens: company.tokens.map(({ address }) => address),
    silentTokens: new Set(
      company.tokens.filter(({ kind }) => kind === 'rebasing' || kind === 'illBehaved').map(({ address }) => address),
    ),
    orders: orders.accepted,
  };
  const watchers = seed % TWO_WATCHERS_EVERY === 0 ? ['chain-watcher', 'second-watcher'] : ['chain-watcher'];

  const start = async (names: readonly string[]) => {
    for (const name of names) {
      if (services.isRunning(name)) continue;
      const settings: Record<string, string> = name === 'projector' ? {} : watcherSettings(chance, chain.wsUrl);
      if (name !== 'projector') readsAtHead = settings['STATE_BLOCKS_MAX'] === '1';
      note(`${name} starts ${JSON.stringify(settings)}`);
      await services.start(name, name === 'projector' ? name : 'chain-watcher', settings);
    }
  };
  const end = async (names: readonly string[], signal: 'SIGKILL' | 'SIGTERM') => {
    note(`${signal} for ${names.join(' and ')}`);
    report.restarts += names.length;
    await Promise.all(names.map((name) => services.end(name, signal)));
  };
  const makeBlock = async () => {
    for (let left = chance.between(0, 2); left > 0; left -= 1) count(await visitDoor());
    for (let left = chance.below(13); left > 0; left -= 1) {
      count(await actOnChain(chain, protocol, company, [...orders.accepted, ...orders.kept], chance));
    }
    if (chance.oneIn(3)) count(await visitDoor());
    await mine(drawSeconds(chance));
  };
  const visitDoor = () => door[chance.pickWeighted({ postNew: 10, postLate: 3, postAgain: 1, delete: 3 })]();

  try {
    // With settings of this seed's own.
    await services.end('chain-watcher', 'SIGTERM');
    await start(watchers);
    for (step = 1; step <= steps; step += 1) {
      const ending = drawEnding(chance, watchers);
      if (ending?.when === 'before') await end(ending.names, ending.signal);
      for (let left = chance.between(1, 3); left > 0; left -= 1) await makeBlock();
      if (chance.oneIn(12)) for (let left = chance.between(5, 25); left > 0; left -= 1) await mine(1);
      if (ending?.when === 'after') {
        await pause(chance.below(150));
        await end(ending.names, ending.signal);
      }
      await start(['projector', ...watchers]);
      if (ending !== undefined && chance.oneIn(2)) await makeBlock();
      const isSteady = ending === undefined && watchers.length === 1 && !readsAtHead;
      if (isSteady) report.blocksCompared += made.length;
      for (const [state, times] of await compareViews(simulation, cast, { blocks: made, isSteady })) {
        states[state] = (states[state] ?? 0) + times;
        report.ordersCompared += times;
      }
      report.comparisons += 1;
      made = [];
      orders.comparedBlock = chain.head().number;
      note('-- compared');
    }
    if (services.isRunning('second-watcher')) await services.end('second-watcher', 'SIGTERM');
    return { seed, ...report, orders: orders.accepted.length, tally, states };
  } catch (error) {
    const what = error instanceof Error ? (error.name === 'Difference' ? error.message : error.stack) : String(error);
    const where = `seed ${seed}, step ${step}, block ${chain.head().number}`;
    throw new Error(`${where}: ${what}\n\nThe last actions:\n${trace.join('\n')}\n\n${services.lastLines()}`, {
      cause: error,
    });
  }
}

function watcherSettings(chance: Chance, wsUrl: string): Record<string, string> {
  return {
    CATCH_UP_BLOCKS_MAX: chance.pick(['120', '120', '3', '0']),
    STATE_BLOCKS_MAX: chance.pick(['100', '100', '100', '1']),
    MULTICALL_CALLS_MAX: chance.pick(['200', '3']),
    ...(chance.oneIn(2) ? { RPC_WS_URL: wsUrl } : {}),
  };
}

/** Mostly seconds, sometimes minutes, now and then hours. */
function drawSeconds(chance: Chance): number {
  const warp = chance.pickWeighted({ none: 12, small: 3, large: 1 });
  return { none: () => 1, small: () => chance.between(2, 90), large: () => chance.between(100, 3000) }[warp]();
}

interface Ending {
  readonly names: readonly string[];
  readonly signal: 'SIGKILL' | 'SIGTERM';
  /** Before the blocks of the step, so that they are made meanwhile; or right after them, while they are worked on. */
  readonly when: 'before' | 'after';
}

function drawEnding(chance: Chance, watchers: readonly string[]): Ending | undefined {
  if (!chance.oneIn(7)) return undefined;
  const who = chance.pickWeighted({ oneWatcher: 5, watchers: 2, projector: 2, all: 1 });
  const names = {
    oneWatcher: () => [chance.pickAny(watchers) ?? 'chain-watcher'],
    watchers: () => [...watchers],
    projector: () => ['projector'],
    all: () => ['projector', ...watchers],
  }[who]();
  return { names, signal: chance.pick(['SIGKILL', 'SIGTERM']), when: chance.pick(['before', 'after']) };
}
