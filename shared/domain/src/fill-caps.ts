import type { FillCapSet, OrderFill } from '@makerbook/contracts-events';
import { type Address, type Hex, quantity } from '@makerbook/contracts-primitives';
import type { LogClock } from './log-clock.js';

/** A cap of a maker, and what was counted of it. Quantities are in hex, for a row holds it as JSON. */
export interface FillCap extends Pick<FillCapSet, 'token' | 'amount' | 'windowSeconds' | 'issuedAtMs'> {
  /** What was filled in the newest window. */
  readonly filled: Hex;
  /** When the newest window ends, in seconds; 0: none has begun. */
  readonly untilSeconds: number;
  /** Fills from this place of the chain on count: block, and log within it. Rows of earlier releases lack it. */
  readonly countsFrom?: readonly [blockNumber: number, logIndex: number];
}

/** What a cap counts of a fill. */
export interface CappedFill extends Pick<OrderFill, 'blockNumber' | 'logIndex'> {
  readonly token: Address;
  readonly amount: bigint;
  /** The time of its block. */
  readonly seconds: number;
}

/** A maker has at most so many: one more changes nothing. Removed ones count apart, and the oldest of them goes. */
export const FILL_CAPS_MAX = 100;
/** By far longer than a message waits before it is in the log: none from before a removed cap comes later. */
const REMOVED_SECONDS = 600;

/** False of a cap that is removed. */
export function isCapOn({ amount, windowSeconds }: Pick<FillCap, 'amount' | 'windowSeconds'>): boolean {
  return windowSeconds > 0 && BigInt(amount) > 0n;
}

/** The fills of blocks that are not processed yet count. */
const nextFill = ({ block }: Pick<LogClock, 'block'>) => [block + 1, 0] as const;

/** Replaces the cap of the token, and its count. One that removes the cap is kept until no older one can come. */
export function setFillCap(
  caps: readonly FillCap[],
  { token, amount, windowSeconds, issuedAtMs }: FillCapSet,
  clock: LogClock,
): readonly FillCap[] {
  const earlier = caps.find((cap) => cap.token === token);
  if (earlier !== undefined && issuedAtMs <= earlier.issuedAtMs) return caps;
  const oldestMs = (clock.seconds - REMOVED_SECONDS) * 1000;
  const counted = { filled: '0x0', untilSeconds: 0, countsFrom: nextFill(clock) } as const;
  const added: FillCap = { token, amount, windowSeconds, issuedAtMs, ...counted };
  const others = caps.filter((cap) => cap !== earlier);
  const on = others.filter(isCapOn);
  if (isCapOn(added) && on.length >= FILL_CAPS_MAX) return caps;
  const removed = others.filter((cap) => !isCapOn(cap) && cap.issuedAtMs >= oldestMs);
  return [...removed.slice(-FILL_CAPS_MAX), ...on, added];
}

/**
 * Counts a fill once. The first one begins a window, and so does the first one after a window has passed, each by the
 * time of its own block. Fills come in the order of the chain, so one from before the place that comes next is a
 * repeat.
 */
export function countFill(caps: readonly FillCap[], fill: CappedFill, clock: LogClock): readonly FillCap[] {
  const { token, amount, seconds, blockNumber, logIndex } = fill;
  const cap = caps.find((each) => each.token === token);
  if (cap === undefined || !isCapOn(cap)) return caps;
  const [block, log] = cap.countsFrom ?? nextFill(clock);
  if (blockNumber < block || (blockNumber === block && logIndex < log)) return caps;
  const isWithin = seconds < cap.untilSeconds;
  const counted: FillCap = {
    ...cap,
    filled: quantity(isWithin ? BigInt(cap.filled) + amount : amount),
    untilSeconds: isWithin ? cap.untilSeconds : seconds + cap.windowSeconds,
    countsFrom: [blockNumber, logIndex + 1],
  };
  return caps.map((each) => (each === cap ? counted : each));
}

/** Until when orders that sell the token are out of the book, in seconds; 0: they are not, for no cap is exceeded. */
export function cappedUntil(caps: readonly FillCap[], token: Address, { seconds }: Pick<LogClock, 'seconds'>): number {
  const cap = caps.find((each) => each.token === token);
  const isExceeded = cap !== undefined && BigInt(cap.filled) > BigInt(cap.amount);
  return isExceeded && seconds < cap.untilSeconds ? cap.untilSeconds : 0;
}
