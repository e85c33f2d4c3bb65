import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { Exits } from './exits.js';
import type { RememberedHash } from './remember-hashes.js';

/** A maker's budget. It fills at a steady rate up to its burst. */
export interface Budget {
  readonly ratePerSecond: number;
  readonly burst: number;
}

/** The content of a maker's budget when it was charged last. */
export interface Tokens {
  /** Undefined: full. */
  readonly left: number | undefined;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

export type BudgetName = 'orders' | 'cancels';

/** A standing instruction of a maker: its switch, its keys, or its cap of a token. One of each subject counts. */
export interface Instruction {
  /** See `subjectOf`. */
  readonly subject: string;
  readonly issuedAtMs: number;
  /** The values that the instruction sets, named as in the maker's row. */
  readonly terms: object;
  /** The key that signed it for the maker. */
  readonly key?: Address | undefined;
}

/** An open order, with what a cancellation of all orders needs. */
export interface ListedForCancel {
  readonly orderHash: Hex;
  readonly making: Address;
  readonly taking: Address;
  readonly acceptedAtMs: number;
}

/** The state of a maker by which its requests are decided. An order whose cancellation is in flight does not count. */
export interface MakerStanding {
  readonly orders: Tokens;
  readonly cancels: Tokens;
  /** The nonce by the rows; 0 if never read. */
  readonly nonce: bigint;
  readonly isQuarantined: boolean;
  /** Orders that the fold has opened. `expired` of them have expired since, which is read only near the limit. */
  readonly open: number;
  readonly expired: number;
  /** Orders that were placed, are not folded yet, and have not expired. */
  readonly inFlight: number;
  /** Hashes that the fold remembers. */
  readonly remembered: number;
  /** More hashes that the fold will remember: of all orders in flight, and of cancellations of unknown orders. */
  readonly onTheirWay: number;
  readonly exits: Exits;
  /** Instructions in flight. */
  readonly instructions: readonly Instruction[];
  /** Read only for a cancellation of all orders. Leaves out orders whose cancellation is in flight. */
  readonly listed: readonly ListedForCancel[];
}

/** The state of a hash, for its own maker alone. A hash of which nothing is known has no entry. */
export interface HashStanding {
  /** UNFOLDED: its order is in the log, and its maker is in quarantine. */
  readonly remembered?: RememberedHash['state'] | 'UNFOLDED';
  /** The amounts of an open order: all of it, and what is left. */
  readonly order?: { readonly making: bigint; readonly remaining: bigint; readonly expiresAtSeconds: number };
  /** A request has placed the order, and the fold has not seen it. */
  readonly inFlight?: { readonly expiresAtSeconds: number };
  /** A DELETE was told that the hash is unknown. That holds for requests that were received by then. */
  readonly notedUntilMs?: number;
  /** A cancellation of the hash is in flight. */
  readonly isCancelling?: boolean;
}

/** The state by which requests are decided, read at one moment. */
export interface Standing {
  /**
   * The time since which nothing was lost, in milliseconds since 1970. Undefined: rows may be missing until the log is
   * folded.
   */
  readonly trustedSinceMs: number | undefined;
  /** Has each maker of the requests. */
  readonly makers: ReadonlyMap<Address, MakerStanding>;
  readonly hashes: ReadonlyMap<Hex, HashStanding>;
}

interface OfMaker {
  readonly maker: Address;
  readonly partition: number;
}

/** A write of a request. All of them are stored, or none. */
export type Decision =
  | {
      readonly kind: 'charge';
      readonly maker: Address;
      readonly of: BudgetName;
      readonly tokens: Tokens & { readonly left: number };
    }
  /** Places an order. Its append has ended by `untilMs`, whatever became of it. The same holds for a mark. */
  | (OfMaker & {
      readonly kind: 'place';
      readonly orderHash: Hex;
      /** Minimal hex, as in a response. */
      readonly salt: Hex;
      readonly expiresAtSeconds: number;
      readonly untilMs: number;
    })
  /** Marks a cancellation or an instruction as in flight. */
  | (OfMaker & {
      readonly kind: 'mark';
      readonly orderHash: Hex;
      readonly untilMs: number;
      readonly instruction?: Instruction;
      /** Store the mark only if this much of the order is still left, or if it is still in flight. */
      readonly onlyWith?: bigint | 'in flight';
    });

/** Takes `count` from a budget. What is left is below zero if the budget does not hold that many. */
export function spend(
  { left, atMs }: Tokens,
  { ratePerSecond, burst }: Budget,
  count: number,
  nowMs: number,
): Tokens & { readonly left: number } {
  const filled = left === undefined ? burst : left + (Math.max(0, nowMs - atMs) * ratePerSecond) / 1000;
  return { left: Math.min(burst, filled) - count, atMs: Math.max(atMs, nowMs) };
}

/** Allows for rounding: sums of times and rates are not exact. */
const SLACK = 0.00001;

export function isSpent(left: number): boolean {
  return left < -SLACK;
}

/** How many of the requested orders the budget holds. */
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

/** A copy of a standing, which decisions change in place. */
export interface Draft extends Standing {
  readonly makers: Map<Address, MakerStanding>;
  readonly hashes: Map<Hex, HashStanding>;
}

export function draftOf(standing: Standing): Draft {
  return { ...standing, makers: new Map(standing.makers), hashes: new Map(standing.hashes) };
}

/** Applies the decisions to a draft, as they will change the store. The next request is decided by it. */
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
