import { setTimeout as pause } from 'node:timers/promises';
import { type Chance, createChance } from '@makerbook/parts';
import { actOnChain } from './act-on-chain.js';
import { compareViews, subjectsOf } from './compare-views.js';
import type { Head } from './drive-chain.js';
import { openFaults } from './inject-faults.js';
import { openFixture } from './open-fixture.js';
import type { Simulation } from './open-simulation.js';
import { type Done, type Orders, openRequests } from './place-orders.js';
import { readContracts } from './read-contracts.js';

export interface SeedOptions {
  readonly seed: number;
  /** Comparisons; between two of them lie one to three blocks, or many. */
  readonly steps: number;
}

/** What a seed did, so that nobody takes an idle run for a good one. */
export interface SeedReport {
  readonly seed: number;
  /** What was done on the chain, in requests to the service, and to the processes. */
  readonly actions: number;
  /** Transactions that the chain took and that changed nothing; not among the actions. */
  readonly reverted: number;
  readonly blocks: number;
  readonly comparisons: number;
  /** Of the blocks, those after which what the router knew of some order was compared. */
  readonly blocksCompared: number;
  /** Each comparison of each order counts. */
  readonly ordersCompared: number;
  /** How often the feed said ACTIVE, or had said it last when a block was processed, and the order could be filled. */
  readonly activeHeld: number;
  readonly orders: number;
  /** Processes that were ended. */
  readonly endings: number;
  /** How often each kind of action was done. */
  readonly tally: Readonly<Record<string, number>>;
  /** How often an order was found in each state. */
  readonly states: Readonly<Record<string, number>>;
}

const TRACE_LINES = 100;

/**
 * Random actions of many makers on the chain and in requests to the service, in blocks of random size, while watchers, one to
 * three of them side by side, projector, ingress and query are ended and started at random, and one of two nodes fails or
 * lags. After each step every order is compared, see `compareViews`.
 * The same seed draws the same actions; when what happens beside them is up to the processes.
 * @throws Error that names the seed and the step, with the last actions
 */
export async function simulateSeed(simulation: Simulation, { seed, steps }: SeedOptions): Promise<SeedReport> {
  const { chain, services, protocol, feed } = simulation;
  const chance = createChance(seed);
  const trace: string[] = [];
  const tally: Record<string, number> = {};
  const states: Record<string, number> = {};
  const report = {
    actions: 0,
    reverted: 0,
    blocks: 0,
    comparisons: 0,
    blocksCompared: 0,
    ordersCompared: 0,
    activeHeld: 0,
  };
  let step = 0;
  /** The blocks since the last comparison. */
  let made: Head[] = [];
  /** What the next block decides about. */
  const pending = new Map<string, Done>();
  const note = (text: string) => {
    trace.push(`step ${step}, block ${chain.head().number}: ${text}`);
    if (trace.length > TRACE_LINES) trace.shift();
  };
  const count = ({ actions }: Done) => {
    for (const action of actions) tally[action] = (tally[action] ?? 0) + 1;
    if (actions.length > 0) report.actions += 1;
  };
  const done = (one: Done) => {
    note(one.text);
    if (one.transaction === undefined) count(one);
    else pending.set(one.transaction, one);
  };
  const mine = async (seconds: number) => {
    const { outcomes, ...block } = await chain.mine(seconds);
    made.push(block);
    report.blocks += 1;
    note(`-- mined block ${block.number} at ${block.timestamp}`);
    for (const { hash, isReverted } of outcomes) {
      const one = pending.get(hash);
      pending.delete(hash);
      if (one !== undefined && isReverted) report.reverted += 1;
      else if (one !== undefined) count(one);
    }
  };

  const fixture = await openFixture(simulation, seed, chance);
  const contracts = readContracts(chain, protocol);
  const orders: Orders = { accepted: [], kept: [], spoilt: [], comparedBlock: chain.head().number };
  const requests = openRequests(simulation, fixture, contracts, orders, chance);
  const faults = openFaults(simulation, chance, note);
  const subjects = subjectsOf(fixture, contracts, orders.accepted);
  const request = () =>
    requests[chance.pickWeighted({ postNew: 12, postLate: 3, postAgain: 1, delete: 2, spoil: 8 })]();
  const makeBlock = async (isDisturbed: boolean) => {
    if (isDisturbed) done(await faults.inject());
    for (let left = chance.between(1, 3); left > 0; left -= 1) done(await request());
    for (let left = chance.below(13); left > 0; left -= 1) {
      done(await actOnChain(chain, protocol, fixture, [...orders.accepted, ...orders.kept], chance));
    }
    // What it had in flight stays for some ten seconds, so it is rare.
    if (chance.oneIn(50) && services.isRunning('projector')) done(await faults.killIngressUnder(request));
    const seconds = drawSeconds(chance);
    if (chance.oneIn(3)) {
      const requesting = request();
      await Promise.all([requesting.then(done), mine(seconds)]);
    } else await mine(seconds);
    // As soon as the chain knows of it, and perhaps before the watcher does.
    if (orders.spoilt.length > 0 && !chance.oneIn(4)) done(await requests.postSpoilt());
    if (!chance.oneIn(12)) return;
    await pause(chance.below(100));
    done(await faults.inject());
  };

  try {
    await faults.begin();
    for (step = 1; step <= steps; step += 1) {
      const blocks = chance.between(1, 3);
      const disturbed = chance.between(1, blocks);
      for (let block = 1; block <= blocks; block += 1) await makeBlock(block === disturbed);
      if (chance.oneIn(12)) for (let left = chance.between(5, 25); left > 0; left -= 1) await mine(1);
      await faults.settle();
      // Whether the watcher that publishes is gone, a standby sees by a block that is not processed.
      await mine(1);
      const found = await compareViews(simulation, subjects, made);
      for (const [state, times] of found.states) {
        states[state] = (states[state] ?? 0) + times;
        report.ordersCompared += times;
      }
      report.blocksCompared += found.blocksCompared;
      report.activeHeld += found.active.held;
      report.comparisons += 1;
      made = [];
      orders.comparedBlock = chain.head().number;
      note('-- compared');
    }
    return { seed, ...report, orders: orders.accepted.length, endings: faults.endings(), tally, states };
  } catch (error) {
    const what = error instanceof Error ? (error.name === 'Difference' ? error.message : error.stack) : String(error);
    const where = `seed ${seed}, step ${step}, block ${chain.head().number}`;
    const makers = new Set(orders.accepted.filter(({ label }) => what?.includes(label)).map(({ maker }) => maker));
    const logs = [...makers].map((maker) => `The log of ${maker}:\n${feed.recent(maker).join('\n')}`);
    const running = `What runs:\n${faults.describe()}`;
    const parts = [what, `The last actions:\n${trace.join('\n')}`, running, ...logs, services.lastLines()];
    throw new Error(`${where}: ${parts.join('\n\n')}`, { cause: error });
  }
}

/** Mostly seconds, sometimes minutes, now and then hours. */
function drawSeconds(chance: Chance): number {
  const warp = chance.pickWeighted({ none: 12, small: 3, large: 1 });
  return { none: () => 1, small: () => chance.between(2, 90), large: () => chance.between(100, 3000) }[warp]();
}
