import { type Checked, checkActive } from './check-active.js';
import type { Head } from './drive-chain.js';
import { lastUpTo } from './follow-feed.js';
import { type ChainState, judgeOrder, readChain, type TrackedOrder, type Verdict } from './judge-orders.js';
import type { Simulation } from './open-simulation.js';
import type { Contracts } from './read-contracts.js';
import { readList, readProjectedBlock, readStored, type StoredView } from './read-views.js';
import { pause } from './run-services.js';

/** Who takes part: makers with their keys, tokens, and every order that was posted. */
export interface Cast {
  readonly contracts: Contracts;
  readonly makers: ReadonlyMap<string, `0x${string}`>;
  readonly tokens: readonly string[];
  /** Tokens whose balances change with no event: only the sweep notices, a moment later. */
  readonly silentTokens: ReadonlySet<string>;
  readonly suspectTokens: ReadonlySet<string>;
  /** In the order in which they were accepted. */
  readonly orders: readonly TrackedOrder[];
}

/** What happened since the last comparison. */
export interface Stretch {
  /** The blocks that were made. */
  readonly blocks: readonly Head[];
  /**
   * One watcher followed them one by one. It knows nothing of a later block when it tells of an earlier one, so what the
   * router knew is compared after each of them, whatever it was. One that catches up reads at the head, and one of several
   * may be ahead: then ACTIVE alone is held to the chain.
   */
  readonly isSteady: boolean;
}

/** What a comparison found. */
export interface Found {
  /** How many orders were in which state. */
  readonly states: ReadonlyMap<string, number>;
  /** How often the router was told ACTIVE, or still knew it, and it was right. */
  readonly active: Pick<Checked, 'held'>;
}

/** The service says something that the chain does not. */
export class Difference extends Error {
  override readonly name = 'Difference';
}

const PROJECTED_MS_MAX = 180_000;
const AGREED_MS_MAX = 90_000;

/**
 * Waits until the newest block went through the projector, and compares what Postgres, each maker's list and the
 * router's feed say of every order with what the chain says at that block.
 * What was open at an earlier comparison must be right at once, in the same moment in which the block is projected;
 * a new order is right or VALIDATING. Then every ACTIVE that the router was told since the last comparison is looked at.
 * @throws Difference
 */
export async function compareViews(simulation: Simulation, cast: Cast, stretch: Stretch): Promise<Found> {
  const { chain, feed } = simulation;
  const { contracts, silentTokens, suspectTokens } = cast;
  const { blocks, isSteady } = stretch;
  await untilProjected(simulation);
  const open = cast.orders.filter(({ isGone }) => !isGone);
  const makers = [...cast.makers.keys()];
  const first = await readStored(simulation.postgres, makers);
  const state = await readChain(contracts, chain.head(), { makers, tokens: cast.tokens, orders: open });
  const verdicts = new Map(open.map((order) => [order, judgeOrder(order, state)]));
  const tooEarly = differences(first, { cast, state, verdicts, isFirstLook: true });
  if (tooEarly.length > 0) throw new Difference(`at the moment the block was projected:\n${tooEarly.join('\n')}`);

  const stored = await untilAgreed('Postgres', async () => {
    const view = await readStored(simulation.postgres, makers);
    return { view, wrong: differences(view, { cast, state, verdicts, isFirstLook: false }) };
  });
  await untilAgreed('the lists', async () => ({ view: 0, wrong: await listDifferences(simulation, cast, stored) }));
  await untilAgreed('the feed', async () => ({ view: 0, wrong: feedDifferences(simulation, cast, stored, verdicts) }));
  await untilAgreed('the log', async () => ({
    view: 0,
    wrong: feed.clock() >= chain.head().number ? [] : [`block ${chain.head().number} does not stand in it`],
  }));
  if (isSteady) await compareBlocks(simulation, cast, blocks, open);
  const { headOf } = chain;
  const active = await checkActive({ feed, contracts, orders: open, blocks, headOf, silentTokens, suspectTokens });
  if (active.wrong.length > 0) throw new Difference(`what the router was told:\n${active.wrong.join('\n')}`);

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
  return { states, active };
}

/**
 * What the router knew of each order once it was told all of a block, against the chain at that block. Orders that are
 * new, or deleted meanwhile, are left out: for them it counts how far the watcher was.
 */
async function compareBlocks(
  { feed }: Simulation,
  { contracts, tokens, silentTokens }: Cast,
  blocks: readonly Head[],
  open: readonly TrackedOrder[],
): Promise<void> {
  const orders = open.filter((order) => order.wasOpen && !order.isDeleted && !silentTokens.has(order.token));
  const makers = [...new Set(orders.map(({ maker }) => maker))];
  const wrong: string[] = [];
  for (const block of blocks) {
    const state = await readChain(contracts, block, { makers, tokens, orders });
    for (const order of orders) {
      const at = feed.processedAt(order.maker, block.number);
      if (at === undefined) continue;
      const { allowed, isRoutable } = judgeOrder(order, state);
      const expected = isRoutable ? allowed : ['gone'];
      const says = lastUpTo(feed.told(order.signed.orderHash), at)?.says ?? 'gone';
      if (expected.includes(says)) continue;
      wrong.push(`${order.label}: after block ${block.number} the router knew ${says}, the chain said ${expected}`);
    }
  }
  if (wrong.length > 0) throw new Difference(`what the router was told, block for block:\n${wrong.join('\n')}`);
}

async function untilProjected({ chain, services, postgres, partitions }: Simulation): Promise<void> {
  const { number } = chain.head();
  const deadline = Date.now() + PROJECTED_MS_MAX;
  for (;;) {
    services.assertAlive();
    const projected = await readProjectedBlock(postgres, partitions);
    if (projected >= number) return;
    if (Date.now() > deadline) throw new Difference(`block ${number} is not projected, only ${projected}`);
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

interface Judged {
  readonly cast: Cast;
  readonly state: ChainState;
  readonly verdicts: ReadonlyMap<TrackedOrder, Verdict>;
  readonly isFirstLook: boolean;
}

function differences(view: StoredView, { cast, state, verdicts, isFirstLook }: Judged): string[] {
  const wrong: string[] = [];
  const known = new Map(cast.orders.map((order) => [order.signed.orderHash as string, order]));
  for (const orderHash of view.orders.keys()) {
    const order = known.get(orderHash);
    if (order === undefined) wrong.push(`${orderHash} is stored, but was never accepted`);
    else if (order.isGone) wrong.push(`${order.label} was gone, and is back`);
  }
  const watchedPairs = new Set<string>();
  const watchedMakers = new Set<string>();
  for (const [order, { allowed, reasons, isRoutable }] of verdicts) {
    const { maker, token, signed, label } = order;
    const isSilent = cast.silentTokens.has(token);
    const stored = view.orders.get(signed.orderHash);
    if (stored !== undefined && order.wasOpen) watchedPairs.add(`${maker} ${token}`);
    if (stored !== undefined && order.wasOpen) watchedMakers.add(maker);
    const says = stored?.says ?? 'gone';
    const removal = view.removals.get(signed.orderHash);
    // What a maker asked for may stand in the log behind the block, and a new order waits to be read.
    const isNew = !order.wasOpen && (stored === undefined ? removal === undefined : says.startsWith('VALIDATING '));
    const isLeaving = order.isDeleted && stored !== undefined;
    if (isFirstLook && (isSilent || isNew || isLeaving)) continue;
    if (stored !== undefined && order.wasDenied) wrong.push(`${label}: DELETE said NOT_FOUND, and it is ${says}`);
    if (!allowed.includes(says)) wrong.push(`${label}: Postgres says ${says}, the chain ${allowed.join(' or ')}`);
    if (stored === undefined && !reasons.has(removal ?? '')) {
      wrong.push(
        `${label}: removed because ${removal}, but the chain says ${[...reasons].join(' or ') || 'it is not'}`,
      );
    }
    if (stored !== undefined && stored.isInBook !== isRoutable) {
      wrong.push(
        `${label}: ${stored.isInBook ? 'in' : 'out of'} the book ${order.expiresAt - state.head.timestamp} s before it expires`,
      );
    }
  }
  // Values that decide nothing now will decide something later.
  for (const [pair, funds] of view.funds) {
    const [maker = '', token = ''] = pair.split(' ');
    if (isFirstLook && (!watchedPairs.has(pair) || cast.silentTokens.has(token))) continue;
    const chain = { balance: state.balance(maker, token), allowance: state.allowance(maker, token) };
    for (const what of ['balance', 'allowance'] as const)
      if (funds[what] !== chain[what])
        wrong.push(`${what} of ${pair}: Postgres says ${funds[what]}, the chain ${chain[what]}`);
  }
  for (const [maker, nonce] of view.nonces) {
    if (isFirstLook && !watchedMakers.has(maker)) continue;
    if (nonce !== state.nonce(maker))
      wrong.push(`nonce of ${maker}: Postgres says ${nonce}, the chain ${state.nonce(maker)}`);
  }
  return wrong;
}

/** A list that reflects the end of the log says what Postgres says: nothing happens any more. */
async function listDifferences(
  { services, serviceName, protocol }: Simulation,
  cast: Cast,
  stored: StoredView,
): Promise<string[]> {
  const wrong: string[] = [];
  for (const [maker, signer] of cast.makers) {
    const { records, isBehind } = await readList({
      baseUrl: services.url('query'),
      signer,
      chainId: 8217,
      serviceName,
      limitOrderProtocol: protocol,
    });
    const listed = records.map(({ orderHash, says, order, signature }) => {
      const signed = cast.orders.find((each) => each.signed.orderHash === orderHash)?.signed;
      const isAsSigned = signed?.signature === signature && JSON.stringify(signed.order) === JSON.stringify(order);
      return `${orderHash} ${says}${isAsSigned ? '' : ' not as it was signed'}`;
    });
    const expected = cast.orders.flatMap(({ signed: { orderHash }, maker: itsMaker }) => {
      const order = itsMaker === maker ? stored.orders.get(orderHash) : undefined;
      return order === undefined ? [] : [`${orderHash} ${order.says.split(' ')[0]}`];
    });
    if (listed.join() === expected.join()) continue;
    const text = `the list of ${maker} is ${listed.join(', ') || 'empty'}; Postgres says ${expected.join(', ') || 'nothing'}`;
    if (!isBehind) throw new Difference(text);
    wrong.push(`${text}; it is behind`);
  }
  return wrong;
}

function feedDifferences(
  { feed }: Simulation,
  cast: Cast,
  stored: StoredView,
  verdicts: ReadonlyMap<TrackedOrder, Verdict>,
): string[] {
  const wrong: string[] = [];
  for (const order of cast.orders) {
    const { orderHash } = order.signed;
    const inPostgres = stored.orders.get(orderHash);
    const told = feed.told(orderHash).at(-1);
    const says = told?.says ?? 'gone';
    const expected = inPostgres?.isInBook === true ? inPostgres.says : 'gone';
    if (says !== expected) wrong.push(`${order.label}: the feed says ${says}, Postgres ${expected}`);
    const { removal } = told ?? {};
    const reasons = verdicts.get(order)?.reasons;
    const isRight = removal === undefined || removal === 'GRACE_PERIOD' || removal === stored.removals.get(orderHash);
    if (!isRight)
      wrong.push(`${order.label}: the feed says removed because ${removal}, the chain ${[...(reasons ?? [])]}`);
  }
  return wrong;
}
