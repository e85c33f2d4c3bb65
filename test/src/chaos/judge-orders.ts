import type { SignedOrder } from '@makerbook/client';

/** The outcome of a request: `stored`, `CANCELLED`, `NOT_FOUND`, or the code of an error. */
export interface Attempt {
  readonly outcome: string;
  /** False if the service answered that it did nothing. */
  readonly mayHaveHappened: boolean;
  readonly beganAtMs: number;
  readonly endedAtMs: number;
}

/** All that a client did with an order, and the answers. */
export interface OrderHistory {
  readonly signed: SignedOrder;
  /** The number of its request. Of one request all orders are stored, or none. */
  readonly request: number;
  /** True if it was signed with a nonce that the chain did not hold yet. */
  readonly wasAhead: boolean;
  /** The orders that its request replaces. */
  readonly replaces?: readonly string[];
  readonly posts: Attempt[];
  readonly cancels: Attempt[];
}

/** An order in log, read model and lists in the end. `npm run verify` compares the book with the log. */
export interface FoundOrder {
  readonly cancelledInLog: boolean;
  readonly inLog: boolean;
  /** How often the history of the read model has it opened, and removed. */
  readonly opened: number;
  readonly removed: number;
  readonly isOpen: boolean;
  readonly listed: number;
  /** Records of lists whose status, terms or signature differ from the rows or from what its maker signed. */
  readonly misquoted: readonly string[];
}

export type Wrong = 'lost' | 'invented' | 'doubled';

export interface Finding {
  readonly wrong: Wrong;
  readonly text: string;
  /** When the broken request was answered, or sent. */
  readonly atMs: number;
}

/**
 * Compares the answers about an order with what is there in the end. A request with an unknown outcome may have
 * happened or not.
 */
export function judgeOrder({ signed, posts, cancels }: OrderHistory, found: FoundOrder): Finding[] {
  const { inLog, cancelledInLog, opened, removed, isOpen, listed, misquoted } = found;
  const stored = posts.find(({ outcome }) => outcome === 'stored');
  // This outcome says that the order is stored, or was cancelled.
  const duplicate = cancels.length === 0 ? posts.find(({ outcome }) => outcome === 'duplicate') : undefined;
  const taken = stored ?? duplicate;
  const cancelled = cancels.find(({ outcome }) => outcome === 'CANCELLED');
  const denied = cancels.find(
    ({ outcome, beganAtMs }) => outcome === 'NOT_FOUND' && stored !== undefined && stored.endedAtMs < beganAtMs,
  );
  const mayBeStored = posts.some(({ mayHaveHappened }) => mayHaveHappened);
  const mayBeCancelled = cancels.some(({ mayHaveHappened }) => mayHaveHappened);
  const checks: readonly [isSo: unknown, Wrong, what: string, answered: Attempt | undefined][] = [
    [taken && !inLog, 'lost', 'POST said that it is stored, and the log has no such order', taken],
    [taken && inLog && opened === 0, 'lost', 'POST said that it is stored, and it was never opened', taken],
    [opened > 0 && !isOpen && removed === 0, 'lost', 'it was opened, and is neither open nor removed', taken],
    [isOpen && listed === 0, 'lost', 'it is open and not listed', taken],
    [cancelled && !cancelledInLog, 'lost', 'DELETE said CANCELLED, and the log has no cancellation', cancelled],
    [cancelled && (isOpen || listed > 0), 'lost', 'DELETE said CANCELLED, and it is open', cancelled],
    [denied && isOpen, 'lost', 'DELETE said NOT_FOUND, and it is open', denied],
    [inLog && !mayBeStored, 'invented', 'it is in the log, and every POST was refused', posts[0]],
    [cancelledInLog && !mayBeCancelled, 'invented', 'its cancellation is in the log, and no DELETE', cancels[0]],
    [misquoted.length > 0, 'invented', `it is listed as ${misquoted}`, taken],
    [!isOpen && listed > 0, 'invented', 'it is listed, and not open', taken],
    [
      opened > 1 || removed > 1 || listed > 1,
      'doubled',
      `opened ${opened}, removed ${removed}, listed ${listed} times`,
      taken,
    ],
  ];
  return checks.flatMap(([isSo, wrong, what, answered]) =>
    isSo ? { wrong, text: `${signed.orderHash}: ${what}`, atMs: answered?.endedAtMs ?? posts[0]?.beganAtMs ?? 0 } : [],
  );
}

/** Finds requests with some of their orders in the log and others not. */
export function judgeRequests(orders: readonly OrderHistory[], isInLog: (orderHash: string) => boolean): Finding[] {
  const requests = Map.groupBy(orders, ({ request }) => request);
  return [...requests.values()].flatMap((together) => {
    const stored = together.filter(({ signed }) => isInLog(signed.orderHash)).length;
    if (stored === 0 || stored === together.length) return [];
    const [first] = together;
    const text = `${first?.signed.orderHash}: of the ${together.length} orders of its request ${stored} are in the log`;
    return [{ wrong: 'lost' as const, text, atMs: first?.posts[0]?.endedAtMs ?? 0 }];
  });
}

/** Finds replacements that are in the log without their cancellations, and orders that several of them replace. */
export function judgeReplacements(
  orders: readonly OrderHistory[],
  isInLog: (orderHash: string) => boolean,
  isCancelled: (orderHash: string) => boolean,
): Finding[] {
  const stored = orders.filter(({ signed }) => isInLog(signed.orderHash));
  const replacedBy = new Map<string, number>();
  return stored.flatMap(({ request, replaces = [], posts }) =>
    replaces.flatMap((hash): Finding[] => {
      const other = replacedBy.get(hash) ?? request;
      replacedBy.set(hash, request);
      const atMs = posts[0]?.endedAtMs ?? 0;
      if (!isCancelled(hash)) return [{ wrong: 'lost', text: `${hash}: it is replaced, and not cancelled`, atMs }];
      return other === request ? [] : [{ wrong: 'doubled', text: `${hash}: two requests replace it`, atMs }];
    }),
  );
}
