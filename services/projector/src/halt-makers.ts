import type { Address, OpenOrder } from '@makerbook/domain';
import type { LogRecord } from '@makerbook/kafka';
import type { HistoryRow, OrderRow, ProjectionCommit } from '@makerbook/postgres';
import { describeWithdrawal, type FeedRules } from './describe-feeds.js';
import { orderFromRow } from './load-makers.js';
import type { LoggedFact } from './read-facts.js';

/**
 * A maker for whom a block cannot be folded. Its orders leave the router's book, for nobody keeps them up to date; they
 * stay open, and listed. Told from the rows and not from the fold, which is what is broken.
 */
export interface Halt {
  readonly maker: Address;
  readonly reason: string;
  /** Its orders that stand in the book, oldest acceptance first. */
  readonly inBook: readonly OrderRow[];
}

/** @param orders all rows of the makers' orders, oldest acceptance first */
export function describeHalts(broken: ReadonlyMap<Address, string>, orders: readonly OrderRow[]): Halt[] {
  return [...broken].map(([maker, reason]) => {
    return { maker, reason, inBook: orders.filter((row) => row.maker === maker && row.inBook) };
  });
}

/** What has to be written, and nothing else of these makers. */
export function describeHaltRows(
  halts: readonly Halt[],
  block: LoggedFact,
): Required<Pick<ProjectionCommit, 'halted' | 'withheld' | 'history'>> {
  const history = halts.flatMap(({ inBook }) => {
    return inBook.map(({ orderHash, maker, status, reason, remaining }): HistoryRow => {
      const state = { status, reason, remaining, expiresAtSeconds: null };
      return { offset: block.offset, orderHash, maker, happened: 'WITHHELD', ...state };
    });
  });
  return {
    halted: halts.map(({ maker }) => ({ maker, offset: block.offset })),
    withheld: halts.flatMap(({ inBook }) => inBook.map(({ orderHash }) => orderHash)),
    history,
  };
}

export function describeHaltFeeds({ inBook }: Halt, block: LoggedFact, rules: FeedRules): LogRecord[] {
  return inBook.flatMap((row) => describeWithdrawal(row.orderHash, readable(row), 'HALTED', block, rules));
}

function readable(row: OrderRow): OpenOrder | undefined {
  try {
    return orderFromRow(row);
  } catch {
    return undefined;
  }
}
