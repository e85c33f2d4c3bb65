import type { FillCapSet } from '@makerbook/contracts-events';
import { type Address, type Hex, quantity } from '@makerbook/contracts-primitives';
import type { LogClock } from './log-clock.js';

/** A cap of a maker, and what was counted of it. Quantities are in hex, for a row holds it as JSON. */
export interface FillCap extends Pick<FillCapSet, 'token' | 'amount' | 'windowSeconds' | 'issuedAtMs'> {
  /** What was filled in the newest window. */
  readonly filled: Hex;
  /** When the newest window ends, in seconds; 0: none has begun. */
  readonly untilSeconds: number;
}

/** A maker has at most so many: one more changes nothing. Removed ones count apart, and the oldest of them goes. */
export const FILL_CAPS_MAX = 100;
/** By far longer than a message may wait before it is in the log: none that was signed before a removed cap comes later. */
const REMOVED_SECONDS = 600;

/** False of a cap that is removed. */
export function isCapOn({ amount, windowSeconds }: Pick<FillCap, 'amount' | 'windowSeconds'>): boolean {
  return windowSeconds > 0 && BigInt(amount) > 0n;
}

/** Replaces the cap of the token, and what was counted. One that removes it is kept until no older one can come any more. */
export function setFillCap(
  caps: readonly FillCap[],
  { token, amount, windowSeconds, issuedAtMs }: FillCapSet,
  { seconds }: Pick<LogClock, 'seconds'>,
): readonly FillCap[] {
  const earlier = caps.find((cap) => cap.token === token);
  if (earlier !== undefined && issuedAtMs <= earlier.issuedAtMs) return caps;
  const oldestMs = (seconds - REMOVED_SECONDS) * 1000;
  const added: FillCap = { token, amount, windowSeconds, issuedAtMs, filled: '0x0', untilSeconds: 0 };
  const others = caps.filter((cap) => cap !== earlier);
  const on = others.filter(isCapOn);
  if (isCapOn(added) && on.length >= FILL_CAPS_MAX) return caps;
  const removed = others.filter((cap) => !isCapOn(cap) && cap.issuedAtMs >= oldestMs);
  return [...removed.slice(-FILL_CAPS_MAX), ...on, added];
}

/**
 * Counts a fill. The first one begins a window, and so does the first one after a window has passed.
 * @param seconds the time of the block at which the fill was read
 */
export function countFill(
  caps: readonly FillCap[],
  token: Address,
  amount: bigint,
  seconds: number,
): readonly FillCap[] {
  const cap = caps.find((each) => each.token === token);
  if (amount === 0n || cap === undefined || !isCapOn(cap)) return caps;
  const counted =
    seconds < cap.untilSeconds
      ? { ...cap, filled: quantity(BigInt(cap.filled) + amount) }
      : { ...cap, filled: quantity(amount), untilSeconds: seconds + cap.windowSeconds };
  return caps.map((each) => (each === cap ? counted : each));
}

/** Until when orders that sell the token are out of the book, in seconds; 0: they are not, for no cap is exceeded. */
export function cappedUntil(caps: readonly FillCap[], token: Address, { seconds }: Pick<LogClock, 'seconds'>): number {
  const cap = caps.find((each) => each.token === token);
  const isExceeded = cap !== undefined && BigInt(cap.filled) > BigInt(cap.amount);
  return isExceeded && seconds < cap.untilSeconds ? cap.untilSeconds : 0;
}
