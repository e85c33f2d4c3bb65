import type { Address } from '@makerbook/contracts-primitives';
import type { Budget } from './budget.js';
import type { Refusal } from './refusal.js';
import type { BudgetName, Decision } from './standing.js';

/** What was decided about a request. A refusal may charge all the same. */
export interface Verdict {
  /** To be stored, all or none. */
  readonly decisions: readonly Decision[];
  readonly refusal?: Refusal;
  /** What is left of the budgets that were asked, of each maker. */
  readonly left?: {
    readonly of: BudgetName;
    readonly makers: readonly { readonly maker: Address; readonly budget: Budget }[];
    readonly remaining: readonly number[];
  };
  /** How many of the orders are charged to the address of the client. */
  readonly ofClient: number;
  /** Of an instruction that is taken: false where the log may have a newer one. */
  readonly isKnown?: boolean;
}

/** Nothing is stored, and nothing is charged to a maker. */
export function refused(refusal: Refusal): Verdict {
  return { decisions: [], refusal, ofClient: 0 };
}

export function unavailable(detail: string, retryAfterMs?: number): Refusal {
  return { code: 'unavailable', detail, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}
