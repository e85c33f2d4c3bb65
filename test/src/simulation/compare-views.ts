import { setTimeout as pause } from 'node:timers/promises';
import type { Hex } from '@makerbook/contracts-primitives';
import { type Checked, checkActive } from './check-active.js';
import type { Head } from './drive-chain.js';
import { blockDifferences, feedDifferences, listDifference, storedDifferences } from './find-differences.js';
import { judgeOrder, readChain, type TrackedOrder } from './judge-orders.js';
import type { Fixture } from './open-fixture.js';
import type { Simulation } from './open-simulation.js';
import type { Contracts } from './read-contracts.js';
import { readList, readProjectedBlock, readStored, type StoredView } from './read-views.js';

/** What is compared: makers with their keys, tokens, and every order that was posted. */
export interface Subjects {
  readonly contracts: Contracts;
  readonly makers: ReadonlyMap<string, Hex>;
  readonly tokens: readonly string[];
  /** Tokens whose balances change with no event: only the sweep notices, a moment later. */
  readonly silentTokens: ReadonlySet<string>;
  readonly suspectTokens: ReadonlySet<string>;
  /** In the order in which they were accepted. */
  readonly orders: readonly TrackedOrder[];
}

export function subjectsOf(
  { makers, tokens }: Fixture,
  contracts: Contracts,
  orders: readonly TrackedOrder[],
): Subjects {
  const tokensOf = (...kinds: readonly string[]) =>
    new Set(tokens.filter(({ kind }) => kinds.includes(kind)).map(({ address }) => address));
  return {
    contracts,
    makers,
    tokens: tokens.map(({ address }) => address),
    silentTokens: tokensOf('rebasing', 'illBehaved'),
    suspectTokens: tokensOf('illBehaved'),
    orders,
  };
}

/** What a comparison found. */
export interface Found {
  /** How many orders were in which state. */
  readonly states: ReadonlyMap<string, number>;
  /** How often the feed said ACTIVE, or had said it last, and it was right. */
  readonly active: Pick<Checked, 'held'>;
  /** After how many blocks what the router knew of some order was compared. */
  readonly blocksCompared: number;
}

/** The service says something that the chain does not. */
export class Difference extends Error {
  override readonly name = 'Difference';
}

const PROJECTED_MS_MAX = 120_000;
const AGREED_MS_MAX = 90_000;

/**
 * Waits until the newest block went through the projector, and compares what Postgres, each maker's list and the
 * router's feed say of every order with what the chain says at that block.
 * What was open at an earlier comparison must be right at once, in the same moment in which the block is projected;
 * a new order is right or VALIDATING. Then every ACTIVE in the feed since the last comparison is looked at.
 * @param blocks that were made since the last comparison
 * @throws Difference
 */
export async function compareViews(
  simulation: Simulation,
  subjects: Subjects,
  blocks: readonly Head[],
): Promise<Found> {
  const { chain, feed } = simulation;
  const { contracts, silentTokens, suspectTokens } = subjects;
  await untilProjected(simulation);
  const open = subjects.orders.filter(({ isGone }) => !isGone);
  const makers = [...subjects.makers.keys()];
  const first = await readStored(simulation.postgres, makers);
  const state = await readChain(contracts, chain.head(), { makers, tokens: subjects.tokens, orders: open });
  const verdicts = new Map(open.map((order) => [order, judgeOrder(order, state)]));
  await untilAgreed('the log', async () => ({
    view: 0,
    wrong: feed.block() >= chain.head().number ? [] : [`block ${chain.head().number} is not in it`],
  }));
  await untilAgreed('the clock of the feed', async () => ({
    view: 0,
    wrong: feed.bookBlock() >= chain.head().number ? [] : [`it is at block ${feed.bookBlock()}`],
  }));
  const judged = { subjects, state, verdicts };
  const tooEarly = storedDifferences(first, { ...judged, isFirstLook: true });
  if (tooEarly.length > 0) throw new Difference(`at the moment the block was projected:\n${tooEarly.join('\n')}`);

  const stored = await untilAgreed('Postgres', async () => {
    const view = await readStored(simulation.postgres, makers);
    return { view, wrong: storedDifferences(view, { ...judged, isFirstLook: false }) };
  });
  await untilAgreed('the lists', async () => ({ view: 0, wrong: await listDifferences(simulation, subjects, stored) }));
  await untilAgreed('the feed', async () => ({ view: 0, wrong: feedDifferences(feed, subjects, stored, verdicts) }));
  const compared = await blockDifferences({ feed, contracts, orders: open, silentTokens, blocks });
  if (compared.wrong.length > 0) throw new Difference(`the feed, block for block:\n${compared.wrong.join('\n')}`);
  const { headOf } = chain;
  const { orders } = subjects;
  const active = await checkActive({ feed, contracts, orders, blocks, headOf, silentTokens, suspectTokens });
  if (active.wrong.length > 0) throw new Difference(`the feed:\n${active.wrong.join('\n')}`);

  const states = new Map<string, number>();
  for (const [order, { isRoutable }] of verdicts) {
    const { orderHash } = order.signed;
    const says = stored.orders.get(orderHash)?.says.split(' ')[0] ?? stored.removals.get(orderHash) ?? 'gone';
    const what = stored.orders.has(orderHash) && !isRoutable ? `${says} in its last minute` : says;
    states.set(what, (states.get(what) ?? 0) + 1);
    order.isGone = !stored.orders.has(orderHash);
    order.wasActive = says === 'ACTIVE';
    order.wasOpen = !order.isGone && state.nonce(order.maker) === order.nonce;
  }
  return { states, active, blocksCompared: compared.blocksCompared };
}

async function untilProjected({ chain, services, postgres, partitions, feed }: Simulation): Promise<void> {
  const { number } = chain.head();
  const deadline = Date.now() + PROJECTED_MS_MAX;
  for (;;) {
    services.assertAlive();
    const projected = await readProjectedBlock(postgres, partitions);
    if (projected >= number) return;
    if (Date.now() > deadline) {
      const known = `the log is at ${feed.block()}, the feed at ${feed.bookBlock()}`;
      throw new Difference(`block ${number} is not projected, only ${projected}; ${known}`);
    }
    await pause(15);
  }
}

async function untilAgreed<View>(
  who: string,
  look: () => Promise<{ readonly view: View; readonly wrong: readonly string[] }>,
): Promise<View> {
  const deadline = Date.now() + AGREED_MS_MAX;
  for (;;) {
    const { view, wrong } = await look();
    if (wrong.length === 0) return view;
    if (Date.now() > deadline) throw new Difference(`${who}, after ${AGREED_MS_MAX} ms:\n${wrong.join('\n')}`);
    await pause(30);
  }
}

/** A list that reflects the end of the log says what Postgres says: nothing happens any more. */
async function listDifferences(
  { services, serviceName, protocol }: Simulation,
  subjects: Subjects,
  stored: StoredView,
): Promise<string[]> {
  const behind: string[] = [];
  for (const [maker, signer] of subjects.makers) {
    const { records, isBehind } = await readList({
      baseUrl: services.url('query'),
      signer,
      chainId: 8217,
      serviceName,
      limitOrderProtocol: protocol,
    });
    const wrong = listDifference(maker, records, subjects.orders, stored);
    if (wrong === undefined) continue;
    if (!isBehind) throw new Difference(wrong);
    behind.push(`${wrong}; it is behind`);
  }
  return behind;
}
