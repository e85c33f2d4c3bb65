import type { OrderInHex } from '@makerbook/contracts-evm/typed-data';
import type { MakerbookClient } from '../create-client.js';
import { MakerbookError } from '../errors.js';
import type { OrderToCancel } from '../take-orders.js';
import type { NamedOrder } from './read-words.js';

/** Finds the salts that cancellations are signed with: in the list, or by hash if the list lacks an order for now. */
export async function findSalts(client: MakerbookClient, orders: readonly NamedOrder[]) {
  const known: OrderToCancel[] = [];
  const unknown: string[] = [];
  const isListNeeded = orders.some(({ salt }) => salt === undefined);
  const { records } = isListNeeded ? await client.listOrders() : { records: [] };
  const open = new Map(records.map(({ orderHash, order }) => [orderHash as string, order]));
  for (const { orderHash, salt } of orders) {
    const order = salt === undefined ? (open.get(orderHash) ?? (await findTerms(client, orderHash))) : { salt };
    if (order === undefined) unknown.push(orderHash);
    else known.push({ orderHash, order });
  }
  return { known, unknown };
}

/** @returns undefined if the service knows no such order of the maker */
async function findTerms(client: MakerbookClient, orderHash: string): Promise<OrderInHex | undefined> {
  try {
    return (await client.findOrder(orderHash)).order;
  } catch (error) {
    if (error instanceof MakerbookError && ['not_found', 'gone'].includes(error.code)) return undefined;
    throw error;
  }
}

/**
 * Cancels orders, and yields the status of each. A yielded status holds even if a later call fails. An order whose POST
 * is still in flight is in no list. Only a cancellation keeps it from opening, so unknown hashes are cancelled too.
 */
export async function* cancelNamed(client: MakerbookClient, orders: readonly NamedOrder[]): AsyncGenerator<object> {
  const { known, unknown } = await findSalts(client, orders);
  const unlisted = unknown.map((orderHash) => ({ orderHash, salt: 0n }));
  for (const some of [known, unlisted]) if (some.length > 0) yield* await client.cancelOrders(some);
}

export function notFound(hashes: readonly string[]): MakerbookError {
  const detail = `the maker has no order ${hashes.join(', ')}`;
  return new MakerbookError({ code: 'not_found', status: 404, detail, retryable: false });
}
