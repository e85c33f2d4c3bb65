import type { SignedOrder } from '@makerbook/client';
import type { LimitOrderRecord } from '@makerbook/contracts-http';
import type { Postgres } from '@makerbook/postgres';
import type { FollowedOrders } from '../kit/follow-orders.js';
import {
  type Finding,
  type FoundOrder,
  judgeOrder,
  judgeReplacements,
  judgeRequests,
  type OrderHistory,
} from './judge-orders.js';
import type { Load } from './put-load-on.js';

/**
 * Compares every answer that the makers got with the log, the rows and the lists. Call it while nothing is appended
 * and every list answers.
 */
export async function compareAnswers(
  { orders, makers }: Load,
  feed: FollowedOrders,
  postgres: Postgres,
  partitions: number,
): Promise<Finding[]> {
  const addresses = new Set<string>(makers.map(({ address }) => address));
  const [submitted, cancelled] = [new Set<string>(), new Set<string>()];
  for (let partition = 0; partition < partitions; partition += 1) {
    for (const fact of feed.facts(partition).values()) {
      if (!('maker' in fact) || !addresses.has(fact.maker)) continue;
      if (fact.type === 'OrderSubmitted') submitted.add(fact.orderHash);
      if (fact.type === 'OrderCancelled') cancelled.add(fact.orderHash);
    }
  }
  const [opened, removed] = [await countRows(postgres, 'OPENED'), await countRows(postgres, 'REMOVED')];
  const openRows = await postgres.query<OpenRow>(
    'select order_hash, status, reason, remaining, capped_until from orders',
  );
  const open = new Map(openRows.map((row) => [row.order_hash, row]));
  const signedOf = new Map(orders.map(({ signed }) => [signed.orderHash as string, signed]));
  const listed = new Map<string, number>();
  const misquoted = new Map<string, string[]>();
  for (const { client } of makers) {
    const { records, readLag } = await client.listOrders();
    if (readLag !== 0) throw new Error(`a list is behind by ${readLag}`);
    for (const record of records) {
      const { orderHash } = record;
      listed.set(orderHash, (listed.get(orderHash) ?? 0) + 1);
      const said = misquote(record, open.get(orderHash), signedOf.get(orderHash));
      if (said !== undefined) misquoted.set(orderHash, [...(misquoted.get(orderHash) ?? []), said]);
    }
  }
  const foundOf = (orderHash: string): FoundOrder => ({
    inLog: submitted.has(orderHash),
    cancelledInLog: cancelled.has(orderHash),
    opened: opened.get(orderHash) ?? 0,
    removed: removed.get(orderHash) ?? 0,
    isOpen: open.has(orderHash),
    listed: listed.get(orderHash) ?? 0,
    misquoted: misquoted.get(orderHash) ?? [],
  });
  const strangers = [...submitted, ...cancelled, ...listed.keys()].filter((orderHash) => !signedOf.has(orderHash));
  return [
    ...orders.flatMap((order: OrderHistory) => judgeOrder(order, foundOf(order.signed.orderHash))),
    ...judgeRequests(orders, (orderHash) => submitted.has(orderHash)),
    ...judgeReplacements(
      orders,
      (orderHash) => submitted.has(orderHash),
      (orderHash) => cancelled.has(orderHash),
    ),
    ...[...new Set(strangers)].map((orderHash) => ({
      wrong: 'invented' as const,
      text: `${orderHash}: nobody has ever signed it`,
      atMs: 0,
    })),
  ];
}

type OpenRow = {
  readonly order_hash: string;
  readonly status: string;
  readonly reason: string | null;
  readonly remaining: string;
  readonly capped_until: bigint;
};

/** Returns a record of a list if it differs from the row or from what its maker signed. */
function misquote(
  record: LimitOrderRecord,
  row: OpenRow | undefined,
  signed: SignedOrder | undefined,
): string | undefined {
  const { order, signature, status } = record;
  const reason = record.status === 'INACTIVE' ? record.reason : null;
  const remaining = record.remainingMakingAmount ?? order.making.amount;
  const isAsStored =
    row === undefined ||
    (status === row.status &&
      reason === row.reason &&
      BigInt(remaining) === BigInt(row.remaining) &&
      BigInt(record.cappedUntil ?? 0) === row.capped_until &&
      record.routableUntil === Number(BigInt(order.expiresAt)) - 60);
  const isAsSigned = signature === signed?.signature && JSON.stringify(order) === JSON.stringify(signed.order);
  return isAsStored && isAsSigned ? undefined : JSON.stringify(record);
}

/** How often this happened to each order in the history, keyed by order. */
async function countRows(postgres: Postgres, happened: string): Promise<ReadonlyMap<string, number>> {
  const rows = await postgres.query<{ order_hash: string; count: number }>(
    'select order_hash, count(*)::integer from order_history where happened = $1 group by order_hash',
    [happened],
  );
  return new Map(rows.map(({ order_hash, count }) => [order_hash, count]));
}
