import type { Subjects } from './compare-views.js';
import type { Head } from './drive-chain.js';
import { type Feed, lastUpTo } from './follow-feed.js';
import { type ChainState, judgeOrder, readChain, type TrackedOrder, type Verdict } from './judge-orders.js';
import type { Contracts } from './read-contracts.js';
import type { ListedOrder, StoredView } from './read-views.js';

/** What the read model is held to. */
export interface Judged {
  readonly subjects: Pick<Subjects, 'orders' | 'silentTokens'>;
  readonly state: ChainState;
  readonly verdicts: ReadonlyMap<TrackedOrder, Verdict>;
  /**
   * At the moment in which the block was projected: what was open before has to be right, what is new or changes in silence
   * may come later.
   */
  readonly isFirstLook: boolean;
}

/** What Postgres says and the chain does not. */
export function storedDifferences(view: StoredView, { subjects, state, verdicts, isFirstLook }: Judged): string[] {
  const wrong: string[] = [];
  const known = new Map(subjects.orders.map((order) => [order.signed.orderHash as string, order]));
  for (const orderHash of view.orders.keys()) {
    const order = known.get(orderHash);
    if (order === undefined) wrong.push(`${orderHash} is stored, but was never accepted`);
    else if (order.isGone) wrong.push(`${order.label} was gone, and is back`);
  }
  const watchedPairs = new Set<string>();
  const watchedMakers = new Set<string>();
  for (const [order, { allowed, reasons, isRoutable }] of verdicts) {
    const { maker, token, signed, label } = order;
    const isSilent = subjects.silentTokens.has(token);
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
    if (isFirstLook && (!watchedPairs.has(pair) || subjects.silentTokens.has(token))) continue;
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

/** What a maker's list says and Postgres does not. */
export function listDifference(
  maker: string,
  records: readonly ListedOrder[],
  orders: readonly TrackedOrder[],
  stored: StoredView,
): string | undefined {
  const listed = records.map(({ orderHash, says, order, signature }) => {
    const signed = orders.find((each) => each.signed.orderHash === orderHash)?.signed;
    const isAsSigned = signed?.signature === signature && JSON.stringify(signed.order) === JSON.stringify(order);
    return `${orderHash} ${says}${isAsSigned ? '' : ' not as it was signed'}`;
  });
  const expected = orders.flatMap(({ signed: { orderHash }, maker: itsMaker }) => {
    const order = itsMaker === maker ? stored.orders.get(orderHash) : undefined;
    return order === undefined ? [] : [`${orderHash} ${order.says.split(' ')[0]}`];
  });
  if (listed.join() === expected.join()) return undefined;
  return `the list of ${maker} is ${listed.join(', ') || 'empty'}; Postgres says ${expected.join(', ') || 'nothing'}`;
}

/** What the feed said last and Postgres does not. */
export function feedDifferences(
  feed: Pick<Feed, 'messages'>,
  subjects: Pick<Subjects, 'orders'>,
  stored: StoredView,
  verdicts: ReadonlyMap<TrackedOrder, Verdict>,
): string[] {
  const wrong: string[] = [];
  for (const order of subjects.orders) {
    const { orderHash } = order.signed;
    const inPostgres = stored.orders.get(orderHash);
    const last = feed.messages(orderHash).at(-1);
    const says = last?.says ?? 'gone';
    const expected = inPostgres?.isInBook === true ? inPostgres.says : 'gone';
    if (says !== expected) wrong.push(`${order.label}: the feed says ${says}, Postgres ${expected}`);
    const { removal } = last ?? {};
    const reasons = verdicts.get(order)?.reasons;
    const isRight = removal === undefined || removal === 'GRACE_PERIOD' || removal === stored.removals.get(orderHash);
    if (!isRight)
      wrong.push(`${order.label}: the feed says removed because ${removal}, the chain ${[...(reasons ?? [])]}`);
  }
  return wrong;
}

/** What the router knew is held to the chain after each of some blocks. */
export interface Blocks {
  readonly feed: Pick<Feed, 'messages' | 'processedAt' | 'readUpTo' | 'fundsAt'>;
  readonly contracts: Contracts;
  readonly orders: readonly TrackedOrder[];
  readonly silentTokens: ReadonlySet<string>;
  /** All since the last comparison, oldest first. */
  readonly blocks: readonly Head[];
}

/**
 * What the router knew of each order once a block was processed, and what the log said then of the funds of its pair, against
 * the chain at that block, or at the newer one at which the maker was read last. Orders that are new, or deleted meanwhile, are left out: for them it counts how far the
 * watcher was.
 */
export async function blockDifferences({
  feed,
  contracts,
  silentTokens,
  blocks,
  ...all
}: Blocks): Promise<{ readonly wrong: readonly string[]; readonly blocksCompared: number }> {
  const orders = all.orders.filter((order) => order.wasOpen && !order.isDeleted && !silentTokens.has(order.token));
  const makers = [...new Set(orders.map(({ maker }) => maker))];
  const tokens = [...new Set(orders.map(({ token }) => token))];
  const compared = new Set<number>();
  const wrong: string[] = [];
  for (const block of blocks) {
    for (const maker of makers) {
      const at = feed.processedAt(maker, block.number);
      if (at === undefined) continue;
      compared.add(block.number);
      wrong.push(...(await makerDifferences(maker, block, at)));
    }
  }
  return { wrong, blocksCompared: compared.size };

  /** Time is that of the processed block. */
  async function makerDifferences(maker: string, block: Head, at: bigint): Promise<string[]> {
    const wrong: string[] = [];
    const number = Math.max(block.number, feed.readUpTo(maker, at));
    const own = orders.filter((order) => order.maker === maker);
    const state = await readChain(contracts, { ...block, number }, { makers: [maker], tokens, orders: own });
    for (const order of own) {
      const { token, label } = order;
      const { allowed, isRoutable } = judgeOrder(order, state);
      const expected = isRoutable ? allowed : ['gone'];
      const says = lastUpTo(feed.messages(order.signed.orderHash), at)?.says ?? 'gone';
      if (!expected.includes(says)) {
        wrong.push(
          `${label}: after block ${block.number} the router knew ${says}, the chain said ${expected} at ${number}`,
        );
      }
      // Nobody watches the pair of an order that is gone.
      if (allowed.includes('gone')) continue;
      const funds = feed.fundsAt(maker, token, at);
      const chain = { balance: state.balance(maker, token), allowance: state.allowance(maker, token) };
      for (const what of ['balance', 'allowance'] as const)
        if (funds[what] !== chain[what])
          wrong.push(
            `${label}: after block ${block.number} the log said ${what} ${funds[what]}, the chain ${chain[what]} at ${number}`,
          );
    }
    return wrong;
  }
}
