import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { Exits } from './exits.js';
import type { RememberedHash } from './remember-hashes.js';

/** A maker's budget: it fills at a steady rate up to its burst. */
export interface Budget {
  readonly ratePerSecond: number;
  readonly burst: number;
}

/** A budget of a maker, as it was when it was charged last. */
export interface Tokens {
  /** Undefined: full. */
  readonly left: number | undefined;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

export type BudgetName = 'orders' | 'cancels';

/** A standing instruction of a maker: its switch, its keys, or its cap of a token. Of each subject one counts. */
export interface Instruction {
  /** See `subjectOf`. */
  readonly subject: string;
  readonly issuedAtMs: number;
  /** What it sets, as the maker's row names it. */
  readonly terms: object;
  /** The key that signed it for the maker. */
  readonly key?: Address | undefined;
}

/** An open order, as a cancellation of all orders asks for it. */
export interface ListedForCancel {
  readonly orderHash: Hex;
  readonly making: Address;
  readonly taking: Address;
  readonly acceptedAtMs: number;
}

/** What requests of a maker are decided by. An order whose cancellation is on its way does not count. */
export interface MakerStanding {
  readonly orders: Tokens;
  readonly cancels: Tokens;
  /** By the rows: 0 where it was never read. */
  readonly nonce: bigint;
  readonly isQuarantined: boolean;
  /** Orders that the fold has opened, and those of them that have expired since, which are read near the limit. */
  readonly open: number;
  readonly expired: number;
  /** Orders that were placed, that the fold has not seen, and that have not expired. */
  readonly inFlight: number;
  /** Hashes that the fold remembers. */
  readonly remembered: number;
  /** Hashes that it will remember besides: of all orders in flight, and of cancellations that it knows no order of. */
  readonly onTheirWay: number;
  readonly exits: Exits;
  /** Instructions on their way into the log. */
  readonly instructions: readonly Instruction[];
  /** Read for a cancellation of all orders; without those whose cancellation is on its way. */
  readonly listed: readonly ListedForCancel[];
}

/** What is known of a hash, of its own maker alone. A hash of which nothing is known has no entry. */
export interface HashStanding {
  /** UNFOLDED: its order is in the log, and its maker in quarantine. */
  readonly remembered?: RememberedHash['state'] | 'UNFOLDED';
  /** An open order: all of it, and what is left. */
  readonly order?: { readonly making: bigint; readonly remaining: bigint; readonly expiresAtSeconds: number };
  /** A request has placed it, and the fold has not seen it. */
  readonly inFlight?: { readonly expiresAtSeconds: number };
  /** A DELETE was told that the hash is unknown: it holds for requests that were received by then. */
  readonly notedUntilMs?: number;
  /** A cancellation is on its way. */
  readonly isCancelling?: boolean;
}

/** What requests are decided by, as it was at one moment. */
export interface Standing {
  /** Since when nothing was lost, in milliseconds since 1970. Undefined: rows may be lost until the log is folded. */
  readonly trustedSinceMs: number | undefined;
  /** Of each maker of the requests. */
  readonly makers: ReadonlyMap<Address, MakerStanding>;
  readonly hashes: ReadonlyMap<Hex, HashStanding>;
}

interface OfMaker {
  readonly maker: Address;
  readonly partition: number;
}

/** What is to be stored of a request, all or none. */
export type Decision =
  | {
      readonly kind: 'charge';
      readonly maker: Address;
      readonly of: BudgetName;
      readonly tokens: Tokens & { readonly left: number };
    }
  /** The append of the order has ended by `untilMs`, whatever became of it; so has that of a mark. */
  | (OfMaker & {
      readonly kind: 'place';
      readonly orderHash: Hex;
      /** As a response has it: minimal hex. */
      readonly salt: Hex;
      readonly expiresAtSeconds: number;
      readonly untilMs: number;
    })
  /** A cancellation, or an instruction by its mark, is on its way into the log. */
  | (OfMaker & {
      readonly kind: 'mark';
      readonly orderHash: Hex;
      readonly untilMs: number;
      readonly instruction?: Instruction;
      /** Stored only where so much of the order is still left, or where it is still in flight. */
      readonly onlyWith?: bigint | 'in flight';
    });

/** What is left of a budget once so many are taken: below zero where it does not hold so many. */
export function spend(
  { left, atMs }: Tokens,
  { ratePerSecond, burst }: Budget,
  count: number,
  nowMs: number,
): Tokens & { readonly left: number } {
  const filled = left === undefined ? burst : left + (Math.max(0, nowMs - atMs) * ratePerSecond) / 1000;
  return { left: Math.min(burst, filled) - count, atMs: Math.max(atMs, nowMs) };
}

/** Sums of times and rates are not exact. */
const SLACK = 0.00001;

export function isSpent(left: number): boolean {
  return left < -SLACK;
}

/** How many whole orders of those that were asked for the budget holds. */
export function heldOf(count: number, left: number): number {
  return Math.floor(count + left + SLACK);
}

export function retryAfterMsOf(left: number, { ratePerSecond }: Budget): number {
  return Math.ceil((-left * 1000) / ratePerSecond);
}

const unknownHash: HashStanding = {};

export function hashOf({ hashes }: Standing, orderHash: Hex): HashStanding {
  return hashes.get(orderHash) ?? unknownHash;
}

export function makerOf({ makers }: Standing, maker: Address): MakerStanding {
  const standing = makers.get(maker);
  if (standing === undefined) throw new Error(`the standing of ${maker} was not read`);
  return standing;
}

/** A standing of one's own, which decisions change in place. */
export interface Draft extends Standing {
  readonly makers: Map<Address, MakerStanding>;
  readonly hashes: Map<Hex, HashStanding>;
}

export function draftOf(standing: Standing): Draft {
  return { ...standing, makers: new Map(standing.makers), hashes: new Map(standing.hashes) };
}

/** Leaves a draft as the decisions leave the store: the next request is decided over it. */
export function applyDecisions(draft: Draft, decisions: readonly Decision[], nowMs: number): Draft {
  const { makers, hashes } = draft;
  for (const decision of decisions) {
    const own = makerOf(draft, decision.maker);
    if (decision.kind === 'charge') {
      makers.set(decision.maker, { ...own, [decision.of]: decision.tokens });
      continue;
    }
    const { orderHash } = decision;
    const hash = hashOf(draft, orderHash);
    if (decision.kind === 'place') {
      const { notedUntilMs: _, ...known } = hash;
      const { inFlight, onTheirWay } = own;
      makers.set(decision.maker, { ...own, inFlight: inFlight + 1, onTheirWay: onTheirWay + 1 });
      hashes.set(orderHash, { ...known, inFlight: { expiresAtSeconds: decision.expiresAtSeconds } });
    } else {
      makers.set(decision.maker, afterMark(own, hash, decision, nowMs));
      hashes.set(orderHash, { ...hash, isCancelling: true });
    }
  }
  return draft;
}

function afterMark(
  own: MakerStanding,
  { isCancelling, order, inFlight, remembered }: HashStanding,
  { instruction }: Extract<Decision, { kind: 'mark' }>,
  nowMs: number,
): MakerStanding {
  const instructions = instruction === undefined ? own.instructions : [...own.instructions, instruction];
  if (isCancelling) return { ...own, instructions };
  const isExpired = (expiresAtSeconds: number) => expiresAtSeconds <= Math.floor(nowMs / 1000);
  return {
    ...own,
    instructions,
    open: own.open - (order === undefined ? 0 : 1),
    expired: Math.max(0, own.expired - (order !== undefined && isExpired(order.expiresAtSeconds) ? 1 : 0)),
    inFlight: own.inFlight - (inFlight !== undefined && !isExpired(inFlight.expiresAtSeconds) ? 1 : 0),
    onTheirWay: own.onTheirWay + (inFlight === undefined && remembered === undefined ? 1 : 0),
  };
}
