import type { BookHash, HashedEntry } from '@makerbook/book';
import { type Hex, quantity } from '@makerbook/contracts-primitives';
import type { OpenOrder, Transition } from '@makerbook/domain';

/** A maker's orders in the book, as the book shows them. */
export type OrdersInBook = Map<Hex, HashedEntry>;

export function ordersInBook(orders: Iterable<OpenOrder>): OrdersInBook {
  return new Map([...orders].filter(({ inBook }) => inBook).map((order) => [order.orderHash, entryOf(order)]));
}

/** Updates the hash over the partition's book. The next clock tells it to the router. */
export function hashTransitions(book: BookHash, inBook: OrdersInBook, transitions: readonly Transition[]): void {
  for (const transition of transitions) {
    if (!('order' in transition)) continue;
    const { order, kind } = transition;
    const before = inBook.get(order.orderHash);
    const after = order.inBook && kind !== 'OrderRemoved' ? entryOf(order) : undefined;
    if (before?.status === after?.status && before?.remainingMakingAmount === after?.remainingMakingAmount) continue;
    if (before !== undefined) book.remove(before);
    if (after === undefined) {
      inBook.delete(order.orderHash);
    } else {
      book.add(after);
      inBook.set(order.orderHash, after);
    }
  }
}

function entryOf({ orderHash, remaining, state }: OpenOrder): HashedEntry {
  return { orderHash, remainingMakingAmount: quantity(remaining), status: state.status };
}
