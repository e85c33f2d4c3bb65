import type { Transition } from '@makerbook/domain';
import type { Postgres } from '@makerbook/postgres';
import type { OrderChange } from '../kit/follow-topics.js';
import type { FollowedOrders } from './follow-orders.js';
import { type ReplayedPartition, replayPartition } from './replay-log.js';

/**
 * What rows and feed hold that a replay of the log does not lead to, or the other way round; none where they agree. To be
 * asked while nothing is appended.
 * @param partitions of the log
 */
export async function compareReplay(feed: FollowedOrders, postgres: Postgres, partitions: number): Promise<string[]> {
  const replayed = Array.from({ length: partitions }, (_, partition) => replayPartition(feed.facts(partition)));
  const rows = await readRows(postgres);
  const expected = {
    positions: Array.from({ length: partitions }, (_, partition) => {
      const last = [...feed.facts(partition).keys()].at(-1) ?? -1n;
      // What is behind the last fact is no fact.
      return `${partition}: ${rows.positions.get(partition) ?? 0n} is behind ${last}: ${(rows.positions.get(partition) ?? 0n) > last}`;
    }),
    orders: replayed.flatMap(openOrders),
    funding: replayed.flatMap(fundingOf),
    makers: replayed.flatMap(makersOf),
    history: replayed.flatMap(historyOf),
  };
  const lagging = expected.positions.filter((line) => line.endsWith('false'));
  const published = replayed.flatMap(({ transitions }) => differencesInFeed(feed, transitions));
  return [
    ...lagging.map((line) => `rows of partition ${line}`),
    ...(['orders', 'funding', 'makers', 'history'] as const).flatMap((what) =>
      differences(`row of ${what}`, rows[what], expected[what]),
    ),
    ...published,
  ];
}

function differences(what: string, found: readonly string[], expected: readonly string[]): string[] {
  const [has, wants] = [new Set(found), new Set(expected)];
  return [
    ...found.filter((line) => !wants.has(line)).map((line) => `${what} that no replay leads to: ${line}`),
    ...expected.filter((line) => !has.has(line)).map((line) => `${what} is missing: ${line}`),
    ...(has.size === found.length ? [] : [`${what} twice`]),
  ];
}

/** The messages about each order are those of the replay, each once, in its order. */
function differencesInFeed(feed: FollowedOrders, transitions: readonly Transition[]): string[] {
  const expected = new Map<string, string[]>();
  for (const transition of transitions) {
    const line = messageOf(transition);
    if (line === undefined || !('order' in transition)) continue;
    const { orderHash } = transition.order;
    expected.set(orderHash, [...(expected.get(orderHash) ?? []), line]);
  }
  return [...expected].flatMap(([orderHash, lines]) => {
    const found = feed.changes(orderHash).map(lineOf);
    return found.join() === lines.join() ? [] : [`messages about ${orderHash}: ${found}; by the replay ${lines}`];
  });
}

function messageOf(transition: Transition): string | undefined {
  switch (transition.kind) {
    case 'OrderOpened':
    case 'OrderChanged':
      if (!transition.order.inBook) return undefined;
      return `${transition.offset} ${transition.order.state.status} ${transition.order.remaining}`;
    case 'OrderWithheld':
      return `${transition.offset} gone ${transition.reason}`;
    case 'OrderRemoved':
      return transition.order.inBook ? `${transition.offset} gone ${transition.reason}` : undefined;
    default:
      return undefined;
  }
}

function lineOf(change: OrderChange): string {
  const { offset } = change.id;
  if (change.kind === 'removed') return `${offset} gone ${change.removal}`;
  return `${offset} ${change.entry.status} ${BigInt(change.entry.remainingMakingAmount)}`;
}

function openOrders({ makers }: ReplayedPartition): string[] {
  return [...makers.values()].flatMap(({ orders }) =>
    [...orders.values()].map(({ orderHash, state, remaining, inBook, isObserved, acceptedOffset }) =>
      [orderHash, reasonOf(state) ?? state.status, remaining, inBook, isObserved, acceptedOffset].join(' '),
    ),
  );
}

function fundingOf({ makers }: ReplayedPartition): string[] {
  return [...makers.values()].flatMap(({ maker, funding }) =>
    [...funding].map(([token, { known, openOrders }]) =>
      [maker, token, known?.balance, known?.allowance, known?.block, openOrders].join(' '),
    ),
  );
}

function makersOf({ makers }: ReplayedPartition): string[] {
  return [...makers.values()]
    .filter(({ admission, nonce }) => admission !== 'UNKNOWN' || nonce !== undefined)
    .map(({ maker, admission, nonce }) => [maker, admission, nonce?.value, nonce?.block].join(' '));
}

const happened = {
  OrderOpened: 'OPENED',
  OrderChanged: 'CHANGED',
  OrderWithheld: 'WITHHELD',
  OrderRemoved: 'REMOVED',
} as const;

function historyOf({ transitions }: ReplayedPartition): string[] {
  return transitions.flatMap((transition) => {
    if (!(transition.kind in happened) || !('order' in transition)) return [];
    const { orderHash, state, remaining } = transition.order;
    const reason = transition.kind === 'OrderRemoved' ? transition.reason : reasonOf(state);
    const what = happened[transition.kind as keyof typeof happened];
    return [[transition.offset, orderHash, what, reason, remaining].join(' ')];
  });
}

function reasonOf(state: { readonly status: string; readonly reason?: string }): string | undefined {
  return state.reason;
}

async function readRows(postgres: Postgres) {
  return postgres.transaction(async (query) => {
    const lines = async (sql: string) => {
      const rows = await query<Record<string, unknown>>(sql);
      return rows.map((row) => Object.values(row).join(' '));
    };
    const positions = await query<{ partition: number; next_offset: bigint }>(
      'select partition, next_offset from projections',
    );
    return {
      positions: new Map(positions.map(({ partition, next_offset }) => [partition, next_offset])),
      orders: await lines(
        'select order_hash, coalesce(reason, status), remaining, in_book, is_observed, accepted_offset from orders',
      ),
      funding: await lines('select maker, token, balance, allowance, block, open_orders from funding'),
      makers: await lines(
        `select maker, admission, nonce, nonce_block from makers where admission <> 'UNKNOWN' or nonce is not null`,
      ),
      history: await lines('select log_offset, order_hash, happened, reason, remaining from order_history'),
    };
  });
}
