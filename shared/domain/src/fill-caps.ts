import type { FillCapSet, OrderFill } from '@makerbook/contracts-events';
import { type Address, type Hex, quantity } from '@makerbook/contracts-primitives';
import type { LogClock } from './log-clock.js';

/** A cap of a maker, and the fills counted against it. Quantities are in hex, because a row holds the cap as JSON. */
export interface FillCap extends Pick<FillCapSet, 'token' | 'amount' | 'windowSeconds' | 'issuedAtMs'> {
  /** The amount filled in the newest window. */
  readonly filled: Hex;
  /** When the newest window ends, in seconds; 0 if none has begun. */
  readonly untilSeconds: number;
  /** Fills count from this block and log of the chain on. Rows of earlier releases lack it. */
  readonly countsFrom?: readonly [blockNumber: number, logIndex: number];
}

/** A fill, as a cap counts it. */
export interface CappedFill extends Pick<OrderFill, 'blockNumber' | 'logIndex'> {
  readonly token: Address;
  readonly amount: bigint;
  /** The time of the fill's block. */
  readonly seconds: number;
}

/** The most caps of a maker: one more changes nothing. Removed caps count apart, and the oldest is dropped. */
export const FILL_CAPS_MAX = 100;
/** How long a removed cap is kept. No message waits nearly that long for the log, so no older cap comes after it. */
const REMOVED_SECONDS = 600;

/** False if the cap is removed. */
export function isCapOn({ amount, windowSeconds }: Pick<FillCap, 'amount' | 'windowSeconds'>): boolean {
  return windowSeconds > 0 && BigInt(amount) > 0n;
}

/** Counting starts here: at the first block that is not processed yet. */
const nextFill = ({ block }: Pick<LogClock, 'block'>) => [block + 1, 0] as const;

/** Replaces the token's cap and its count. A cap that is removed is kept until no older one can come. */
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
 * Counts a fill once. A window begins with the first fill, and again with the first fill after it has passed, each by
 * the time of the fill's block. Fills come in the order of the chain, so one from before `countsFrom` is a repeat.
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

/** The second until which orders that sell the token are out of the book; 0 if no cap is exceeded. */
export function cappedUntil(caps: readonly FillCap[], token: Address, { seconds }: Pick<LogClock, 'seconds'>): number {
  const cap = caps.find((each) => each.token === token);
  const isExceeded = cap !== undefined && BigInt(cap.filled) > BigInt(cap.amount);
  return isExceeded && seconds < cap.untilSeconds ? cap.untilSeconds : 0;
}
