declare const clock: unique symbol;

/** Milliseconds since 1970, by a clock that may be set. Takes any number, but no time of the other clock. */
export type UnixMs = number & { readonly [clock]?: 'unix' };

/** Milliseconds since some moment of this process, by a clock that never goes back. Use it to measure durations. */
export type MonotonicMs = number & { readonly [clock]?: 'monotonic' };

export const unixMs = (): UnixMs => Date.now();
export const monotonicMs = (): MonotonicMs => performance.now();
